# SPDX-License-Identifier: Apache-2.0
# Other texts for all that these files publish: letters are rotated by 13, and "_" is put behind the
# first, so each differs in its letters and its length (tests/lib/rewording.h). It is for the lines that
# split.sed or split_sentences.sed made. Formats keep their conversions.
s/\x03/\\"/g
/^"/!b
s/%\.\*s/\x04/g
s/%zu/\x05/g
s/%s/\x06/g
s/%u\([^a-z]\)/\x07\1/g
s/[A-Za-z]/&_/
y/abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/nopqrstuvwxyzabcdefghijklmNOPQRSTUVWXYZABCDEFGHIJKLM/
s/\x04/%.*s/g
s/\x05/%zu/g
s/\x06/%s/g
s/\x07/%u/g
