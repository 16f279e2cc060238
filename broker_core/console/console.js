// Draws the live charts of a page. It asks the same server for a sample every two seconds, keeps the samples of this tab,
// and writes text only: nothing here makes markup from what a server says.
"use strict";

const EVERY_MS = 2000;
const SAMPLES_MAX = 300;
const TABLE_ROWS = 10;

const round = (value) => (Number.isInteger(value) ? value : Math.round(value * 10) / 10).toLocaleString("en-US");

class Live {
  constructor(section) {
    this.section = section;
    this.source = section.dataset.source;
    this.samples = this.stored();
    this.charts = [...section.querySelectorAll(".chart")].map((figure) => new Chart(figure));
    this.status = section.querySelector(".live-status");
    this.button = section.querySelector(".pause");
    this.button.hidden = false;
    this.button.addEventListener("click", () => this.pause());
    this.paused = false;
  }

  // A page that is opened again, for example after an action, goes on with the samples of this tab.
  stored() {
    try {
      const found = JSON.parse(sessionStorage.getItem(this.source) || "[]");
      return found.filter((one) => Date.now() - one.at < SAMPLES_MAX * EVERY_MS);
    } catch {
      return [];
    }
  }

  pause() {
    this.paused = !this.paused;
    this.button.setAttribute("aria-pressed", String(this.paused));
    this.status.textContent = this.paused ? "Paused." : "";
    if (!this.paused) this.step();
  }

  async step() {
    clearTimeout(this.timer);
    if (this.paused) return;
    if (!document.hidden) await this.sample();
    this.timer = setTimeout(() => this.step(), EVERY_MS);
  }

  async sample() {
    try {
      const response = await fetch(this.source, { headers: { Accept: "application/json" } });
      if (!response.ok) throw new Error(`the server answers with status ${response.status}`);
      this.add(await response.json());
      this.status.textContent = "";
    } catch (error) {
      this.status.textContent = `No new samples: ${error.message}.`;
    }
  }

  add(found) {
    this.samples.push({ at: Date.now(), ...found.values });
    this.samples.splice(0, this.samples.length - SAMPLES_MAX);
    try {
      sessionStorage.setItem(this.source, JSON.stringify(this.samples));
    } catch {
      // without storage, the samples of this page are all there are
    }
    for (const chart of this.charts) chart.draw(this.samples);
    for (const place of document.querySelectorAll("[data-shown]")) {
      const text = found.shown[place.dataset.shown];
      if (text !== undefined) place.textContent = text;
    }
  }
}

class Chart {
  constructor(figure) {
    this.names = JSON.parse(figure.dataset.series);
    this.isRate = figure.dataset.kind === "rate";
    this.lines = [...figure.querySelectorAll(".line")];
    this.most = figure.querySelector(".most");
    this.said = figure.querySelector(".said");
    this.table = figure.querySelector(".numbers");
    const box = figure.querySelector("svg").viewBox.baseVal;
    [this.width, this.height] = [box.width, box.height];
  }

  draw(samples) {
    const keys = Object.keys(this.names);
    const series = keys.map((key) => this.points(samples, key));
    const most = Math.max(1, ...series.flat().map((point) => point.value));
    const from = samples[0].at;
    const span = Math.max(1, samples[samples.length - 1].at - from);
    series.forEach((points, index) => {
      const places = points.map((one) => `${this.x(one.at, from, span)},${this.y(one.value, most)}`);
      this.lines[index].setAttribute("points", places.join(" "));
    });
    this.most.textContent = round(most);
    this.said.textContent = series.map((points, index) => this.say(this.names[keys[index]], points)).join(" ");
    if (this.table.parentElement.open) this.list(keys, series);
  }

  x(at, from, span) {
    return (((at - from) / span) * this.width).toFixed(1);
  }

  y(value, most) {
    return (this.height - 10 - (value / most) * (this.height - 20)).toFixed(1);
  }

  // A rate is the growth of a counter; a counter that shrinks was started again.
  points(samples, key) {
    if (!this.isRate) return samples.map((one) => ({ at: one.at, value: one[key] }));
    return samples.slice(1).map((one, index) => {
      const before = samples[index];
      return { at: one.at, value: (Math.max(0, one[key] - before[key]) * 1000) / Math.max(1, one.at - before.at) };
    });
  }

  say(name, points) {
    if (!points.length) return "Waiting for a second sample.";
    const values = points.map((one) => one.value);
    const seconds = Math.round((points[points.length - 1].at - points[0].at) / 1000);
    const now = values[values.length - 1];
    const range = `lowest ${round(Math.min(...values))}, highest ${round(Math.max(...values))}`;
    return `${name[0].toUpperCase()}${name.slice(1)}: ${round(now)} now, ${range} in ${seconds} s.`;
  }

  list(keys, series) {
    const table = document.createElement("table");
    const row = (cells, kind) => {
      const line = table.insertRow();
      for (const cell of cells) {
        const place = document.createElement(kind);
        place.textContent = cell;
        line.append(place);
      }
    };
    row(["Time", ...keys.map((key) => this.names[key])], "th");
    const last = series[0].length;
    for (let index = last - 1; index >= Math.max(0, last - TABLE_ROWS); index--) {
      const time = new Date(series[0][index].at).toLocaleTimeString("en-US", { hour12: false });
      row([time, ...series.map((points) => round(points[index].value))], "td");
    }
    this.table.replaceChildren(table);
  }
}

for (const section of document.querySelectorAll(".live")) {
  const live = new Live(section);
  live.status.textContent = "";
  if (live.samples.length) for (const chart of live.charts) chart.draw(live.samples);
  live.step();
}
