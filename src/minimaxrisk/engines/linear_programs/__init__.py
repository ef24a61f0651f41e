"""The algorithms of the paper: linear programs with some or all of the features, solved by HiGHS."""
