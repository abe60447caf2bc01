// Text of a model as Markdown (CommonMark's common parts, tables of GitHub's): no HTML, no images, and a link only to a
// server that the thread has called, with its address in view. Whatever is none of it stays text.
import type { ComponentChildren } from "preact";

import { Json } from "./json";
import { Visible } from "./visible";

/** A longer text is shown as it is. */
const MOST = 20_000;
const DEEPEST = 8;
const FENCE = /^\s*(`{3,}|~{3,})/;
const HEADING = /^ {0,3}#{1,6}\s+(.*?)\s*#*$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(?=\S)/;
const DIVIDER = /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;
/** Code, bold, struck, emphasis, link or image, and an escaped character; each within a length that is soon searched. */
const SPAN =
  /(`+)(.{1,1000}?)\1(?!`)|(\*\*|__|~~)(?=\S)(.{1,1000}?\S?)\3|(?<![\w*])([*_])(?=[^\s*_])(.{1,1000}?)\5(?![\w*])|!?\[([^\]]{0,300})\]\((\S{1,1000}?)\)|\\([!-/:-@[-`{-~])/;

export function Markdown({ text, hosts }: { text: string; hosts: string[] }) {
  return text.length > MOST ? <Visible text={text} /> : <>{blocks(text.split("\n"), hosts, 0)}</>;
}

function blocks(lines: string[], hosts: string[], depth: number): ComponentChildren[] {
  if (depth > DEEPEST) return [<Visible text={lines.join("\n")} />];
  const made: ComponentChildren[] = [];
  let at = 0;
  const take = (fits: (line: string) => boolean): string[] => {
    const from = at;
    while (at < lines.length && fits(lines[at]!)) at += 1;
    return lines.slice(from, at);
  };
  while (at < lines.length) {
    const line = lines[at]!;
    const [, fence] = FENCE.exec(line) ?? [];
    if (!line.trim()) at += 1;
    else if (fence) {
      at += 1;
      made.push(<Json text={take((next) => !next.trimStart().startsWith(fence)).join("\n")} />);
      at += 1;
    } else if (HEADING.test(line)) {
      at += 1;
      made.push(<p class="heading">{spans(HEADING.exec(line)![1]!, hosts)}</p>);
    } else if (RULE.test(line)) {
      at += 1;
      made.push(<hr />);
    } else if (QUOTE.test(line)) {
      made.push(<blockquote>{blocks(take((next) => QUOTE.test(next)).map((next) => next.replace(QUOTE, "")), hosts, depth + 1)}</blockquote>);
    } else if (isTable(lines, at)) made.push(<Table rows={take((next) => next.includes("|"))} hosts={hosts} />);
    else if (ITEM.test(line)) made.push(list());
    else {
      const from = at;
      made.push(<p>{spans(take((next) => at === from || (next.trim() !== "" && !begins(lines, at))).join("\n"), hosts)}</p>);
    }
  }
  return made;

  function list(): ComponentChildren {
    const [, { length: indent }, mark] = ITEM.exec(lines[at]!) as unknown as [string, string, string];
    const isNumbered = mark.length > 1;
    const items: string[][] = [];
    let width = 0;
    for (; at < lines.length; at += 1) {
      const line = lines[at]!;
      const item = ITEM.exec(line);
      const isInside = items.length > 0 && line.search(/\S/) > indent;
      if (item && !isInside && item[2]!.length > 1 === isNumbered && item[1]!.length <= indent) {
        width = item[0].length;
        items.push([line.slice(width)]);
      } else if (isInside || (!line.trim() && (lines[at + 1] ?? "").search(/\S/) > indent)) {
        items.at(-1)!.push(line.slice(Math.min(width, Math.max(0, line.search(/\S/)))));
      } else if (line.trim() || !ITEM.test(lines[at + 1] ?? "")) break;
    }
    const shown = items.map((item) => <li>{blocks(item, hosts, depth + 1)}</li>);
    return isNumbered ? <ol start={parseInt(mark, 10)}>{shown}</ol> : <ul>{shown}</ul>;
  }
}

function begins(lines: string[], at: number): boolean {
  return [FENCE, HEADING, RULE, QUOTE, ITEM].some((start) => start.test(lines[at]!)) || isTable(lines, at);
}

function isTable(lines: string[], at: number): boolean {
  const [head = "", divider = ""] = lines.slice(at, at + 2);
  return head.includes("|") && divider.includes("-") && DIVIDER.test(divider) && cellsOf(head).length === cellsOf(divider).length;
}

function cellsOf(row: string): string[] {
  return row
    .trim()
    .replace(/^\||(?<!\\)\|$/g, "")
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll("\\|", "|"));
}

function Table({ rows: [head = "", , ...rows], hosts }: { rows: string[]; hosts: string[] }) {
  const names = cellsOf(head);
  return (
    <div class="scrolled" tabIndex={0} role="group" aria-label="Table">
      <table>
        <thead>
          <tr>{names.map((name) => <th scope="col">{spans(name, hosts)}</th>)}</tr>
        </thead>
        <tbody>
          {rows.map(cellsOf).map((cells) => (
            <tr>{names.map((_, index) => <td>{spans(cells[index] ?? "", hosts)}</td>)}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function spans(text: string, hosts: string[], depth = 0): ComponentChildren[] {
  const made: ComponentChildren[] = [];
  let rest = text;
  for (let found = SPAN.exec(rest); found && depth < DEEPEST; found = SPAN.exec(rest)) {
    const [all, , code, strong, inner, , em, name, url, escaped] = found;
    made.push(<Visible text={rest.slice(0, found.index)} />);
    if (code !== undefined) made.push(<code><Visible text={code} /></code>);
    else if (strong === "~~") made.push(<s>{spans(inner!, hosts, depth + 1)}</s>);
    else if (inner !== undefined) made.push(<strong>{spans(inner, hosts, depth + 1)}</strong>);
    else if (em !== undefined) made.push(<em>{spans(em, hosts, depth + 1)}</em>);
    else if (url !== undefined) made.push(<Visible text={`${name} (`} />, <Link url={url} hosts={hosts} />, ")");
    else made.push(<Visible text={escaped!} />);
    rest = rest.slice(found.index + all.length);
  }
  made.push(<Visible text={rest} />);
  return made;
}

function Link({ url, hosts }: { url: string; hosts: string[] }) {
  const shown = <Visible text={url} most={300} />;
  const isOwn = /^https?:/i.test(url) && URL.canParse(url) && hosts.includes(new URL(url).host);
  return isOwn ? <a href={url} target="_blank" rel="noreferrer">{shown}</a> : shown;
}
