"use strict";

const fs = require("node:fs");

const LETTERS = /^([-+]?)(?:([0-9]{1,4})h)?(?:([0-9]{1,4})m)?$/;
const COLON = /^([-+]?)([0-9]{1,4}):([0-9]{2})$/;
const DATE = /^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$/;
const TIMES = /^([01][0-9]|2[0-3]):([0-5][0-9])-([01][0-9]|2[0-3]):([0-5][0-9])$/;
const ENTRY = /^([^ \t]+)(?:[ \t]+([^ \t]+)(?:[ \t]+(.*))?)?$/s;

function fail(text, status = 2) {
  process.stderr.write(`${text}\n`);
  process.exit(status);
}

function minutesOf(text) {
  const [, sign, hours, minutes] = LETTERS.exec(text) ?? COLON.exec(text) ?? [];
  if (!(hours || minutes) || (hours && Number(minutes ?? 0) >= 60)) fail(`error: not a duration: ${text}`);
  const total = Number(hours ?? 0) * 60 + Number(minutes ?? 0);
  return sign === "-" ? -total : total;
}

function shown(total) {
  const hours = Math.floor(Math.abs(total) / 60);
  const minutes = Math.abs(total) % 60;
  const text = (hours ? `${hours}h` : "") + (minutes ? `${minutes}m` : "");
  return (total < 0 ? "-" : "") + (text || "0m");
}

function add(durations) {
  if (durations.length === 0) fail("usage: timesheet add DURATION...");
  const total = durations.map(minutesOf).reduce((sum, minutes) => sum + minutes, 0);
  process.stdout.write(`${shown(total)}\n`);
}

function report(words) {
  const { file, step } = reportArguments(words);
  if (file !== undefined && !fs.statSync(file, { throwIfNoEntry: false })?.isFile()) {
    fail(`error: no such file: ${file}`, 1);
  }
  const totals = new Map();
  for (const [label, minutes] of entries(fs.readFileSync(file ?? 0, "utf8"))) {
    totals.set(label, (totals.get(label) ?? 0) + minutes);
  }
  for (const [label, minutes] of totals) totals.set(label, Math.ceil(minutes / step) * step);
  const rows = [...totals].sort(([a, x], [b, y]) => y - x || Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const sum = rows.reduce((total, [, minutes]) => total + minutes, 0);
  process.stdout.write([...rows, ["total", sum]].map(([label, minutes]) => `${shown(minutes)}\t${label}\n`).join(""));
}

function reportArguments(words) {
  const files = [];
  let step = "1";
  const left = [...words];
  while (left.length > 0) {
    const word = left.shift();
    if (word === "--round") step = left.shift();
    else if (word.startsWith("-")) step = undefined;
    else files.push(word);
    if (step === undefined || files.length > 1) fail("usage: timesheet report [--round MINUTES] [FILE]");
  }
  if (!/^[0-9]{1,4}$/.test(step) || Number(step) < 1 || Number(step) > 60) {
    fail(`error: not a number of minutes: ${step}`);
  }
  return { file: files[0], step: Number(step) };
}

function entries(text) {
  const found = [];
  for (const [index, raw] of text.split("\n").entries()) {
    const line = raw.replace(/\r$/, "").replace(/^[ \t]+|[ \t]+$/g, "");
    if (line === "" || line.startsWith("#")) continue;
    const at = `error: line ${index + 1}`;
    const [, date, times = "", label] = ENTRY.exec(line);
    if (!DATE.test(date)) fail(`${at}: bad date: ${date}`, 1);
    const clock = TIMES.exec(times);
    if (!clock) fail(`${at}: bad times: ${times}`, 1);
    if (!label) fail(`${at}: no label`, 1);
    const [fromHour, fromMinute, toHour, toMinute] = clock.slice(1).map(Number);
    const minutes = toHour * 60 + toMinute - (fromHour * 60 + fromMinute);
    found.push([label, minutes > 0 ? minutes : minutes + 24 * 60]);
  }
  return found;
}

function main([command, ...rest]) {
  if (command === "add") add(rest);
  else if (command === "report") report(rest);
  else fail("usage: timesheet COMMAND [ARGUMENT]...");
}

main(process.argv.slice(2));
