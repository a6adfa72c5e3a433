//! Kaldi's specifiers of tables: `ark:feats.ark`, `scp,p:wav.scp`, `ark,scp:feats.ark,feats.scp`.

use crate::error::Error;

/// Kind of table that an rspecifier reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableKind {
    /// `ark`: keys and objects in one stream.
    Archive,
    /// `scp`: lines of a key and the location of its object.
    Script,
}

/// Parsed rspecifier: source and options for reading a table.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rspecifier {
    /// `ark` or `scp`.
    pub kind: TableKind,
    /// The archive or script file, any [`rxfilename`](crate::rxfilename).
    pub rxfilename: String,
    /// `o`: each object is requested once, and may be dropped then.
    pub once: bool,
    /// `s`: the keys in the table are sorted, as by `LC_ALL=C sort`.
    pub sorted: bool,
    /// `cs`: keys are requested in sorted order.
    pub called_sorted: bool,
    /// `p`: objects that cannot be read are left out, with a warning.
    pub permissive: bool,
    /// `bg`: read ahead in another thread.
    pub background: bool,
}

impl Rspecifier {
    /// Parses an rspecifier.
    ///
    /// ```
    /// use kaldi_io::specifier::{Rspecifier, TableKind};
    /// let specifier = Rspecifier::parse("scp,p:data/wav.scp")?;
    /// assert_eq!((specifier.kind, specifier.permissive), (TableKind::Script, true));
    /// assert_eq!(specifier.rxfilename, "data/wav.scp");
    /// # Ok::<(), kaldi_io::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidRspecifier`], which suggests a valid one.
    #[doc(alias = "ClassifyRspecifier")]
    pub fn parse(text: &str) -> Result<Rspecifier, Error> {
        parse_rspecifier(text).map_err(|hint| Error::InvalidRspecifier { text: text.to_owned(), hint })
    }
}

/// Destination of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteTo {
    /// `ark:archive`
    Archive {
        /// The archive's wxfilename.
        archive: String,
    },
    /// `scp:script`: every object goes to the file of its key in the script, which must exist.
    Script {
        /// The script's rxfilename.
        script: String,
    },
    /// `ark,scp:archive,script`: an archive, and a script file that points into it.
    Both {
        /// The archive's wxfilename.
        archive: String,
        /// The script's wxfilename.
        script: String,
    },
}

/// Parsed wspecifier: destination and options for writing a table.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Wspecifier {
    /// The file or files.
    pub to: WriteTo,
    /// Binary (`b`, the default) or text (`t`).
    pub binary: bool,
    /// Flush after each object (`f`, the default) or only when the buffer is full (`nf`).
    pub flush: bool,
    /// `p`: with `scp:`, objects whose key is not in the script are left out silently.
    pub permissive: bool,
}

impl Wspecifier {
    /// Parses a wspecifier.
    ///
    /// ```
    /// use kaldi_io::specifier::{Wspecifier, WriteTo};
    /// let specifier = Wspecifier::parse("ark,t:-")?;
    /// assert_eq!(specifier.to, WriteTo::Archive { archive: "-".into() });
    /// assert!(!specifier.binary && specifier.flush);
    /// # Ok::<(), kaldi_io::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidWspecifier`], which suggests a valid one.
    #[doc(alias = "ClassifyWspecifier")]
    pub fn parse(text: &str) -> Result<Wspecifier, Error> {
        parse_wspecifier(text).map_err(|hint| Error::InvalidWspecifier { text: text.to_owned(), hint })
    }
}

/// Returns `true` for texts such as `ark:a.ark` in place of a single file, which is almost
/// certainly a mistake.
pub(crate) fn looks_like_specifier(text: &str) -> bool {
    // The first two tests decide for most file names.
    text.starts_with(['a', 's'])
        && text.contains(':')
        && (parse_rspecifier(text).is_ok() || parse_wspecifier(text).is_ok())
}

/// Splits `options:rest`.
fn split<'a>(text: &'a str, plain: &str) -> Result<(impl Iterator<Item = &'a str>, &'a str), String> {
    let Some((options, rest)) = text.split_once(':') else {
        return Err(plain.to_owned());
    };
    if text.ends_with(|c: char| c.is_ascii_whitespace()) {
        return Err("it ends with a space".to_owned());
    }
    Ok((options.split([',', ' ']), rest))
}

fn parse_rspecifier(text: &str) -> Result<Rspecifier, String> {
    let plain = if text.ends_with(".scp") {
        format!("write scp:{text} to read the objects that it lists")
    } else {
        format!("write ark:{text} for an archive or scp:{text} for a list of files")
    };
    let (options, rxfilename) = split(text, &plain)?;
    let mut kind = None;
    let mut specifier = Rspecifier {
        kind: TableKind::Archive,
        rxfilename: rxfilename.to_owned(),
        once: false,
        sorted: false,
        called_sorted: false,
        permissive: false,
        background: false,
    };
    for option in options {
        match option {
            "ark" | "scp" if kind.is_some() => {
                return Err("a table is read from 'ark:' or from 'scp:', not from both".to_owned());
            }
            "ark" => kind = Some(TableKind::Archive),
            "scp" => kind = Some(TableKind::Script),
            "o" => specifier.once = true,
            "no" => specifier.once = false,
            "s" => specifier.sorted = true,
            "ns" => specifier.sorted = false,
            "cs" => specifier.called_sorted = true,
            "ncs" => specifier.called_sorted = false,
            "p" => specifier.permissive = true,
            "np" => specifier.permissive = false,
            "bg" => specifier.background = true,
            // Allowed so that the same text can serve for reading and writing.
            "b" | "t" => {}
            _ => return Err(unknown_option(option, "o, s, cs, p (or no, ns, ncs, np), bg, b and t", kind.is_some())),
        }
    }
    specifier.kind = kind.ok_or("it needs 'ark' or 'scp' before the colon")?;
    Ok(specifier)
}

fn parse_wspecifier(text: &str) -> Result<Wspecifier, String> {
    let plain = format!("write ark:{text} for an archive, or ark,scp:{text},{text}.scp for one with an index");
    let (options, files) = split(text, &plain)?;
    let (mut archive, mut script) = (false, false);
    let (mut binary, mut flush, mut permissive) = (true, true, false);
    for option in options {
        match option {
            "ark" if archive || script => return Err("write 'ark', 'scp' or 'ark,scp', in this order".to_owned()),
            "scp" if script => return Err("'scp' stands there twice".to_owned()),
            "ark" => archive = true,
            "scp" => script = true,
            "b" => binary = true,
            "t" => binary = false,
            "f" => flush = true,
            "nf" => flush = false,
            "p" => permissive = true,
            _ => return Err(unknown_option(option, "b, t, f, nf and p", archive || script)),
        }
    }
    let to = match (archive, script) {
        (true, false) => WriteTo::Archive { archive: files.to_owned() },
        (false, true) => WriteTo::Script { script: files.to_owned() },
        (true, true) => {
            let (archive, script) =
                files.split_once(',').ok_or("'ark,scp:' needs two files, as in ark,scp:feats.ark,feats.scp")?;
            WriteTo::Both { archive: archive.to_owned(), script: script.to_owned() }
        }
        (false, false) => return Err("it needs 'ark' or 'scp' before the colon".to_owned()),
    };
    Ok(Wspecifier { to, binary, flush, permissive })
}

/// Returns the hint for an unknown option. Without `ark` or `scp` before it, the text is probably a
/// file name with a colon.
fn unknown_option(option: &str, known: &str, kind_seen: bool) -> String {
    if kind_seen {
        format!("unknown option '{option}'; there are {known}")
    } else {
        "it must begin with 'ark' or 'scp', as in ark:feats.ark or scp:feats.scp".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hint(text: &str) -> String {
        Rspecifier::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn rspecifiers() {
        let plain = Rspecifier::parse("ark:a.ark").unwrap();
        let expected = Rspecifier {
            kind: TableKind::Archive,
            rxfilename: "a.ark".into(),
            once: false,
            sorted: false,
            called_sorted: false,
            permissive: false,
            background: false,
        };
        assert_eq!(plain, expected);
        let full = Rspecifier::parse("o,s,cs,p,bg,b,scp:gunzip -c a:b |").unwrap();
        assert_eq!(full.kind, TableKind::Script);
        assert_eq!(full.rxfilename, "gunzip -c a:b |");
        assert!(full.once && full.sorted && full.called_sorted && full.permissive && full.background);
        let undone = Rspecifier::parse("o,s,cs,p,no,ns,ncs,np,t,ark:-").unwrap();
        assert_eq!(undone, Rspecifier { rxfilename: "-".into(), ..expected.clone() });
        assert_eq!(Rspecifier::parse("ark p:a.ark").unwrap().rxfilename, "a.ark");
        assert_eq!(Rspecifier::parse("ark:").unwrap().rxfilename, "");
        assert_eq!(Rspecifier::parse("ark: a.ark").unwrap().rxfilename, " a.ark");
    }

    #[test]
    fn what_is_not_an_rspecifier_says_what_to_write() {
        assert!(hint("feats.ark").contains("write ark:feats.ark"));
        assert!(hint("wav.scp").contains("write scp:wav.scp"));
        assert!(hint("ark,scp:a,b").contains("not from both"));
        assert!(hint("ark,x:a").contains("unknown option 'x'"));
        assert!(hint("ark,f:a").contains("unknown option 'f'"));
        assert!(hint("ark,:a").contains("unknown option ''"));
        assert!(hint("p:a").contains("needs 'ark' or 'scp'"));
        assert!(hint("/tmp/a:b").contains("must begin with"));
        assert!(hint("ark:a ").contains("ends with a space"));
        assert!(hint("").contains("write ark:"));
    }

    #[test]
    fn wspecifiers() {
        let both = Wspecifier::parse("ark,t,nf,p,scp:a.ark,b,c.scp").unwrap();
        assert_eq!(both.to, WriteTo::Both { archive: "a.ark".into(), script: "b,c.scp".into() });
        assert!(!both.binary && !both.flush && both.permissive);
        let script = Wspecifier::parse("t,b,nf,f,scp:a.scp").unwrap();
        assert_eq!(script.to, WriteTo::Script { script: "a.scp".into() });
        assert!(script.binary && script.flush && !script.permissive);
        for text in
            ["a.ark", "scp,ark:a,b", "ark,ark:a", "ark,scp,scp:a,b", "ark,scp:a", "t:a", "ark,s:a", "ark:a\n", "foo:a"]
        {
            assert!(matches!(Wspecifier::parse(text), Err(Error::InvalidWspecifier { .. })), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(ark|scp|[a-z]{0,3}|,|:| |é){0,8}.{0,9}") {
            let _ = Rspecifier::parse(&text);
            let _ = Wspecifier::parse(&text);
            let _ = crate::rxfilename::classify(&text);
            let _ = crate::wxfilename::classify(&text);
        }
    }
}
