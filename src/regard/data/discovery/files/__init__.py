"""Files that are not tables: parallel texts, running text, folders of classes, trees, tagged words, pictures."""
