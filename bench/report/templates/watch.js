(() => {
  "use strict";
  const recorded = JSON.parse(document.getElementById("recorded").textContent);
  const root = document.getElementById("watch");
  if (!recorded) {
    for (const each of root.children) each.hidden = !each.classList.contains("nothing");
    return;
  }
  const BASE = "autoregressive";
  const SPEEDS = { "real time": 1, "¼": 0.25, "⅒": 0.1 };
  const LINGER_MS = 60; // what has just been fixed stays marked so long, of the run's own time
  const find = (selector, from = root) => from.querySelector(selector);
  const play = find("#play"), slider = find("#time"), clock = find("#clock");
  const panes = { left: find("#left"), right: find("#right") };
  const state = { gap: 0, mode: "verified", speed: 0.25, ms: 0, playing: false };
  let last = 0;

  const gap = () => recorded.gaps[state.gap];
  const take = (side) => gap().modes[side === "left" ? BASE : state.mode];
  const end = () => Math.max(take("left").ms, take("right").ms);
  const whole = (ms) => `${Math.round(ms)} ms`;

  /** As many lines as the longest answer leaves: what stands below does not move. */
  const lines = () => Math.max(...Object.values(gap().modes).map(
    (run) => (gap().before + run.frames.at(-1).committed + gap().after).split("\n").length));

  function piece(kind, text = "") {
    const span = document.createElement("span");
    span.className = kind;
    span.textContent = text;
    return span;
  }

  /** The last frame at this moment, its number and what was fixed a little earlier. */
  function at(run, ms) {
    const shown = (when) => run.frames.findLastIndex((frame) => frame.ms <= when);
    const now = shown(ms), before = shown(ms - LINGER_MS);
    return { number: now, frame: run.frames[now], earlier: before < 0 ? "" : run.frames[before].committed };
  }

  function draw(side) {
    const run = take(side), pane = panes[side], done = state.ms >= run.ms;
    const { number, frame, earlier } = at(run, state.ms);
    const committed = frame ? frame.committed : "", canvas = frame && !done ? frame.canvas : [];
    const old = committed.startsWith(earlier) ? earlier.length : 0;
    const parts = [piece("around", gap().before), piece("fixed", committed.slice(0, old))];
    parts.push(piece(done ? "fixed" : "fixed fresh", committed.slice(old)));
    for (const token of canvas) parts.push(token === null ? piece("mask") : piece("draft", token));
    if (!done) parts.push(piece("caret"));
    parts.push(piece("around", gap().after));
    find("pre", pane).replaceChildren(...parts);
    find("pre", pane).style.minHeight = `${1.65 * lines()}em`;
    find("h3", pane).textContent = side === "left" ? BASE : state.mode;
    const forwards = Math.min(done ? run.forwards : number + 1, run.forwards);
    const tokens = done ? `, ${run.tokens} tokens, ${whole(run.ms)}` : "";
    find(".count", pane).textContent = `${forwards} ${forwards === 1 ? "forward" : "forwards"}${tokens}`;
    pane.classList.toggle("done", done);
  }

  function verdict() {
    const mine = take("right"), base = take("left");
    const text = (run) => run.frames.at(-1).committed;
    const same = text(mine) === text(base) ? "The same answer" : "Another answer";
    const ratio = mine.ms / base.ms;
    const time = ratio < 0.97 ? `${(1 / ratio).toFixed(1)} times as fast` : ratio > 1.03 ? `${ratio.toFixed(1)} times as slow` : "as fast";
    const done = state.ms >= end();
    find(".verdict").textContent = done ? `${same}, in ${mine.forwards} forwards where it takes ${base.forwards}; ${time} as autoregressive.` : "";
  }

  function render() {
    draw("left");
    draw("right");
    verdict();
    slider.value = String(Math.round((1000 * state.ms) / end()));
    clock.textContent = whole(state.ms);
    play.textContent = state.playing ? "Pause" : state.ms >= end() ? "Again" : "Play";
  }

  function tick(now) {
    if (!state.playing) return;
    state.ms = Math.min(end(), state.ms + (now - last) * state.speed);
    last = now;
    if (state.ms >= end()) state.playing = false;
    render();
    requestAnimationFrame(tick);
  }

  function start() {
    if (state.ms >= end()) state.ms = 0;
    state.playing = true;
    last = performance.now();
    requestAnimationFrame(tick);
    render();
  }

  function choice(id, values, chosen, choose) {
    const group = find(id);
    group.replaceChildren(...values.map(([label, value]) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = label;
      button.setAttribute("aria-pressed", String(value === chosen));
      button.addEventListener("click", () => {
        for (const each of group.children) each.setAttribute("aria-pressed", String(each === button));
        choose(value);
      });
      return button;
    }));
  }

  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const again = () => { state.ms = calm ? end() : 0; calm ? render() : start(); };
  choice("#gaps", recorded.gaps.map((each, number) => [each.title, number]), 0, (number) => { state.gap = number; measured(); again(); });
  const modes = Object.keys(gap().modes).filter((mode) => mode !== BASE);
  choice("#modes", modes.map((mode) => [mode, mode]), state.mode, (mode) => { state.mode = mode; again(); });
  choice("#speeds", Object.entries(SPEEDS), state.speed, (speed) => { state.speed = speed; });
  play.addEventListener("click", () => { state.playing ? (state.playing = false, render()) : start(); });
  slider.addEventListener("input", () => { state.playing = false; state.ms = (Number(slider.value) / 1000) * end(); render(); });
  const measured = () => { find(".measured").textContent = `${gap().place} of the example project. Recorded on ${recorded.measured}. The prompt was cached; times include HTTP on the loopback interface.`; };
  measured();
  if (calm) state.ms = end();
  render();
  if (!calm) new IntersectionObserver((seen, watcher) => {
    if (seen[0].isIntersecting) { watcher.disconnect(); start(); }
  }, { threshold: 0.4 }).observe(find(".panes"));
})();
