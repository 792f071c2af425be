"use strict";

const LETTERS = /^([-+]?)(?:([0-9]{1,4})h)?(?:([0-9]{1,4})m)?$/;
const COLON = /^([-+]?)([0-9]{1,4}):([0-9]{2})$/;

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

function main([command, ...rest]) {
  if (command === "add") add(rest);
  else fail("usage: timesheet COMMAND [ARGUMENT]...");
}

main(process.argv.slice(2));
