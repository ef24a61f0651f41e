"use strict";
/* Before anything is painted: the scheme that the reader's system prefers, until the button says otherwise. */
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const follow = () => {
    if (!root.dataset.chosen) root.dataset.theme = dark.matches ? "dark" : "light";
  };
  root.classList.add("scripted");
  follow();
  dark.addEventListener("change", follow);
})();
