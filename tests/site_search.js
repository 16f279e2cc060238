// Asks the search of a built site, in its own program: `node site_search.js HTML`, with a list of questions on stdin.
// Prints the places that the search lists for each question, the best one first.

const fs = require("fs");
const path = require("path");
const vm = require("vm");

const html = process.argv[2];
const questions = JSON.parse(fs.readFileSync(0, "utf8"));
const index = JSON.parse(fs.readFileSync(path.join(html, "search.json"), "utf8"));
const workers = path.join(html, "assets", "javascripts", "workers");
const [worker] = fs.readdirSync(workers).filter((name) => name.startsWith("search."));

// The messages between a page and its worker.
const SETUP = 0;
const READY = 1;
const QUERY = 2;
const RESULT = 3;

const answers = [];

// What a page asks at first: text, and the tags of the pages that have it.
function query(input) {
  const everything = { type: "operator", data: { operator: "and", operands: [] } };
  const tags = { type: "term", data: { field: "tags" } };
  return { input, filter: { input: everything, aggregation: { input: [tags] } } };
}

function ask() {
  if (answers.length === questions.length) {
    console.log(JSON.stringify(answers));
  } else {
    self.onmessage({ data: { type: QUERY, data: query(questions[answers.length]) } });
  }
}

global.self = global;
self.postMessage = (message) => {
  if (message.type === RESULT) {
    answers.push(message.data.items.map((item) => index.items[item.id].location));
  } else if (message.type !== READY) {
    throw new Error("the search failed");
  }
  setImmediate(ask);
};

vm.runInThisContext(fs.readFileSync(path.join(workers, worker), "utf8"));
self.onmessage({ data: { type: SETUP, data: index } });
