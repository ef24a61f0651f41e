"use strict";
(() => {
  const data = JSON.parse(document.getElementById("drawings").textContent);
  const byId = (id) => document.getElementById(id);
  let heatMap = null;

  /* ---- tooltip: text only, so that names from the data stay text ---- */
  const bubble = byId("tooltip");
  const showTooltip = (handler, event, item, value) => {
    if (value === null || value === undefined || value === "") {
      bubble.hidden = true;
      return;
    }
    bubble.replaceChildren();
    for (const [name, text] of Object.entries(value)) {
      const row = document.createElement("div");
      const label = document.createElement("span");
      const content = document.createElement("bdi");
      label.textContent = name;
      content.textContent = text;
      row.append(label, content);
      bubble.append(row);
    }
    bubble.hidden = false;
    const box = bubble.getBoundingClientRect();
    const room = document.documentElement;
    const left = Math.min(event.clientX + 14, room.clientWidth - box.width - 6);
    const below = event.clientY + 16;
    const top = below + box.height > room.clientHeight ? event.clientY - box.height - 12 : below;
    bubble.style.left = `${Math.max(6, left)}px`;
    bubble.style.top = `${Math.max(6, top)}px`;
  };

  /* ---- figures ---- */
  const cells = () => {
    const { places, samples, classes, features, hundredths } = data.cells;
    return hundredths.flatMap((row, f) =>
      row.map((v, i) => ({ x: places[i], f, v: v / 100, s: samples[i], c: classes[i], n: features[f] })),
    );
  };

  const dots = () =>
    data.dots.flatMap(({ x, y, names, others }, k) => {
      let cell = 0;
      const inCell = (step) => {
        cell += step;
        const at = [Math.floor(cell / others.rows), cell % others.rows];
        const [left, up] = at.map((place, i) => others.low[i] + (place + 0.5) * others.sizes[i]);
        return { k, x: left, y: up, s: 0 };
      };
      const selected = names.map((n, i) => ({ k, x: x[i], y: y[i], s: 1, n }));
      return [...(others ? others.steps.map(inCell) : []), ...selected];
    });

  const draw = async ({ id, spec }) => {
    const place = byId(id);
    const isHeatMap = id.startsWith("plot-heatmap");
    if (isHeatMap) spec.datasets = { cells: cells() };
    if (id.startsWith("plot-volcano")) spec.datasets = { dots: dots() };
    // ast: expressions are interpreted, since the page's policy allows no code made from text.
    const options = { ast: true, renderer: "svg", actions: false, defaultStyle: false, tooltip: showTooltip };
    const { view } = await vegaEmbed(place, { $schema: undefined, ...spec }, { mode: "vega-lite", ...options });
    if (id.startsWith("plot-volcano") && byId("volcano-class")) {
      byId("volcano-class").addEventListener("change", (event) => {
        view.signal("panel", Number(event.target.value)).runAsync();
      });
    }
    if (isHeatMap) {
      heatMap = view;
      view.addEventListener("click", (event, item) => {
        if (item && item.datum && item.datum.f !== undefined) choose(item.datum.f, true);
      });
    }
    // The figure around it has its words; Vega gives its groups roles without any.
    place.querySelector("svg").setAttribute("aria-hidden", "true");
    place.dataset.drawn = "yes";
  };

  /* ---- the table of features and the heat map know each other ---- */
  const table = byId("feature-table");
  const rows = table ? [...table.tBodies[0].rows] : [];
  const choose = (place, scroll) => {
    let chosen = null;
    for (const row of rows) {
      const button = row.querySelector("button");
      const isIt = row.dataset.place === String(place) && !row.hasAttribute("data-chosen");
      row.toggleAttribute("data-chosen", isIt);
      if (button) button.setAttribute("aria-pressed", isIt);
      if (isIt) chosen = row;
    }
    if (heatMap) heatMap.signal("chosen", chosen ? Number(place) : -1).runAsync();
    if (chosen && scroll) {
      chosen.hidden = false;
      chosen.closest("details").open = true;
      chosen.scrollIntoView({ block: "center" });
      chosen.querySelector("button").focus({ preventScroll: true });
    }
  };

  const makeChoosable = (row) => {
    const name = row.querySelector("bdi");
    if (row.dataset.place === undefined) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "name";
    button.setAttribute("aria-pressed", "false");
    name.replaceWith(button);
    button.append(name);
    row.addEventListener("click", () => choose(row.dataset.place, false));
  };

  const keyOf = (row, column) => {
    const text = row.cells[column].textContent.trim();
    const value = Number(text.replace("\u2212", "-").replaceAll(",", "").replace("%", ""));
    return text === "" || Number.isNaN(value) ? text : value;
  };

  const sortBy = (header, column) => {
    const before = header.getAttribute("aria-sort");
    const isNumber = header.classList.contains("number");
    const first = isNumber ? "descending" : "ascending";
    const order = before === "none" ? first : before === "ascending" ? "descending" : "ascending";
    for (const other of header.parentNode.cells) {
      if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
    }
    header.setAttribute("aria-sort", order);
    const sign = order === "ascending" ? 1 : -1;
    const collator = new Intl.Collator(undefined, { numeric: true });
    const keyed = rows.map((row) => [keyOf(row, column), row]);
    keyed.sort(([a], [b]) =>
      sign * (typeof a === "number" && typeof b === "number" ? a - b : collator.compare(String(a), String(b))),
    );
    table.tBodies[0].append(...keyed.map(([, row]) => row));
  };

  const makeSortable = (header, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...header.childNodes);
    header.append(button);
    if (!header.hasAttribute("aria-sort")) header.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => sortBy(header, column));
  };

  const search = byId("feature-search");
  const filter = () => {
    const wanted = search.value.trim().toLowerCase();
    let seen = 0;
    for (const row of rows) {
      row.hidden = !row.querySelector("bdi").textContent.toLowerCase().includes(wanted);
      seen += !row.hidden;
    }
    byId("feature-count").textContent = `${seen.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows`;
  };

  /* ---- rows beyond those that the page begins with, and a file of all of them ---- */
  const { headers, places, columns } = data.genes;
  const gene = (header, i) => columns[places.at(header)][i];

  /* As tables.number of the Python code. */
  const shown = (value) => {
    if (value === null) return "";
    const size = Math.abs(value);
    let text = value === 0 ? "0" : value.toPrecision(4);
    if (size >= 1e4) text = Math.round(value).toLocaleString("en");
    if (size > 0 && size < 1e-4) text = value.toExponential(3).replace(/e-(\d)$/, "e-0$1");
    return text.replaceAll("-", "\u2212");
  };

  const addAll = () => {
    const { from, supports, numbers, frequency, last } = data.more;
    last.splice(0).forEach((texts, k) => {
      const i = from + k;
      const row = document.createElement("tr");
      const cells = [
        gene(0, i),
        gene(supports, i),
        ...numbers.map((header) => shown(gene(header, i))),
        ...frequency.map((header) => `${Math.round(100 * gene(header, i))}%`),
        ...texts,
      ];
      row.classList.toggle("rare", frequency.some((header) => gene(header, i) < 0.5));
      cells.forEach((text, j) => {
        const cell = document.createElement(j === 0 ? "th" : "td");
        if (j === 0) cell.scope = "row";
        const content = j < 2 ? document.createElement("bdi") : cell;
        content.textContent = text;
        if (content !== cell) cell.append(content);
        row.append(cell);
      });
      rows.push(row);
      table.tBodies[0].append(row);
    });
    const button = byId("all-genes");
    if (button) button.remove();
    filter();
  };

  const quoted = (cell) => {
    const text = cell === null ? "" : String(cell);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };

  const saveGenes = () => {
    const genes = columns[0].map((_, i) => headers.map((_, k) => gene(k, i)));
    const lines = [headers, ...genes].map((row) => row.map(quoted).join(","));
    const file = new Blob(["\ufeff", lines.join("\n"), "\n"], { type: "text/csv" });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(file);
    link.download = "genes.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };

  if (table) {
    byId("save-genes").addEventListener("click", saveGenes);
    if (byId("all-genes")) {
      byId("all-genes").addEventListener("click", addAll);
      // Who looks for a name, or for the largest, looks for it among all of them.
      search.addEventListener("focus", addAll, { once: true });
      table.tHead.addEventListener("click", addAll, { once: true, capture: true });
    }
    rows.forEach(makeChoosable);
    [...table.tHead.rows[0].cells].forEach(makeSortable);
    search.addEventListener("input", filter);
    filter();
  }

  /* ---- light and dark ---- */
  const toggle = byId("theme");
  const root = document.documentElement;
  toggle.addEventListener("click", () => {
    root.dataset.chosen = "yes";
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
  });

  /* ---- folds: open until all is drawn, since what is folded has no width, and open on paper ---- */
  const folds = [...document.querySelectorAll("details.fold")];
  const measureAgain = () => dispatchEvent(new Event("resize"));
  const unfold = () => {
    const target = location.hash.length > 1 && byId(decodeURIComponent(location.hash.slice(1)));
    const around = target && target.closest("details.fold");
    if (!around) return;
    around.open = true;
    target.scrollIntoView();
  };
  const paper = matchMedia("print");
  let opened = [];
  const onPaper = () => {
    if (paper.matches) opened = folds.filter((fold) => !fold.open);
    for (const fold of opened) fold.open = paper.matches;
  };

  const methods = byId("methods");
  byId("copy-methods").addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(methods.textContent.trim());
      byId("copied").textContent = "Copied.";
    } catch {
      getSelection().selectAllChildren(methods);
      byId("copied").textContent = "Selected: copy it with Ctrl+C or ⌘C.";
    }
  });

  Promise.all(data.plots.map(draw)).then(() => {
    for (const fold of folds) {
      fold.open = false;
      fold.addEventListener("toggle", () => fold.open && measureAgain());
    }
    addEventListener("hashchange", unfold);
    paper.addEventListener("change", onPaper);
    unfold();
    root.dataset.ready = "yes";
  });
})();
