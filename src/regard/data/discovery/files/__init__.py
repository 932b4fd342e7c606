"""Files that are no tables: parallel texts, running text, folders of classes, trees, tagged words, pictures."""
