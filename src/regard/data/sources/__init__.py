"""Where examples come from: files of your own, the small world, toys."""
