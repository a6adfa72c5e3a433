#!/bin/sh
# Stands in for the command in tests of the runner: called as `shell.sh __kaldera TOOL SCRIPT`, it runs SCRIPT.
eval "$3"
