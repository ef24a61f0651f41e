"use strict";
(() => {
  const root = document.documentElement;
  document.getElementById("theme").addEventListener("click", () => {
    root.dataset.chosen = "yes";
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
  });
  root.dataset.ready = "yes";
})();
