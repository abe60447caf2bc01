// Text of models, documents and APIs, in which nothing can hide: what is invisible, reorders or imitates is marked.
import { useState } from "preact/hooks";

const MOST = 20_000;
// Controls but newline and tab, formats (zero-width, bidirectional, tags), private and lone surrogates, odd separators,
// and letters that show nothing.
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]|\p{Cf}|\p{Co}|\p{Cs}|[\u2028\u2029\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufffd]|[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]|[\ufe00-\ufe0e]/u;
const LATIN = /\p{Script=Latin}/u;
const ALIKE = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}]/u;
// Words that are written wholly with letters that look Latin.
const DOUBLES = /^[аеорсухіјѕһԁԛԝвкмнтАЕОРСУХІЈЅВКМНТοανρτυικΟΑΝΡΤΥΙΚΒΕΗΜΖΧ]+$/u;
const FULL_WIDTH = /[\uff01-\uff5e]/u;
const MARKS = /\p{M}{5,}/u;
const WORD = /[\p{L}\p{N}\p{M}]+/gu;

/** Texts without any of these, which most are, need no look at each character. */
const SUSPECT = new RegExp(`${HIDDEN.source}|${ALIKE.source}|${FULL_WIDTH.source}|${MARKS.source}`, "u");

type Piece = { text: string; title?: string };

/** Cut a text into plain pieces and pieces that are marked, with the reason. */
export function pieces(text: string): Piece[] {
  if (!SUSPECT.test(text)) return text ? [{ text }] : [];
  const found: Piece[] = [];
  let plain = "";
  const mark = (shown: string, title: string) => {
    if (plain) found.push({ text: plain });
    plain = "";
    found.push({ text: shown, title });
  };
  const alike = alikeIn(text);
  let index = 0;
  for (const char of text) {
    const code = char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0");
    if (HIDDEN.test(char)) mark(`U+${code}`, "A character that is invisible, reorders text or cannot be shown");
    else if (alike.has(index) || FULL_WIDTH.test(char)) mark(`${char} U+${code}`, "A letter that looks like one of another alphabet");
    else plain += char;
    index += char.length;
  }
  if (plain) found.push({ text: plain });
  return found.flatMap((piece) => (piece.title || !MARKS.test(piece.text) ? [piece] : unpiled(piece.text)));
}

/** Letters with so many marks that they cover other lines: the marks are counted instead. */
function unpiled(text: string): Piece[] {
  return text
    .split(/(\p{M}{5,})/u)
    .filter(Boolean)
    .map((part) => (MARKS.test(part) ? { text: `${[...part].length} marks`, title: "Marks on one letter" } : { text: part }));
}

/** Write what is invisible or reorders in a JSON text as its escapes, for a field in which a person edits it. */
export function escapedHidden(json: string): string {
  const escape = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return [...json].map((char) => (HIDDEN.test(char) ? char.split("").map(escape).join("") : char)).join("");
}

function alikeIn(text: string): Set<number> {
  const found = new Set<number>();
  if (!ALIKE.test(text)) return found;
  const words = [...text.matchAll(WORD)];
  // In a text of that alphabet, a word of such letters is a word like any other.
  const isAtHome = words.some(({ 0: word }) => ALIKE.test(word) && !LATIN.test(word) && !DOUBLES.test(word));
  for (const { 0: word, index } of words) {
    if (!(LATIN.test(word) && ALIKE.test(word)) && (isAtHome || !DOUBLES.test(word))) continue;
    let at = index;
    for (const char of word) {
      if (ALIKE.test(char)) found.add(at);
      at += char.length;
    }
  }
  return found;
}

/** A text with everything in it made visible; a long one is cut, says so, and can be opened. A line in one piece, such as an address, breaks after these signs. */
export function Visible({ text, most = MOST, isOnePiece = false }: { text: string; most?: number; isOnePiece?: boolean }) {
  const [isOpen, setOpen] = useState(false);
  const isCut = text.length > most && !isOpen;
  return (
    <bdi>
      {pieces(isCut ? text.slice(0, most) : text).map(({ text: part, title }) =>
        title ? (
          <span class="mark" title={title}>
            {part}
          </span>
        ) : isOnePiece ? (
          part.split(/(?<=[/?&,])/).flatMap((step) => [step, <wbr />])
        ) : (
          part
        ),
      )}
      {isCut && (
        <button type="button" class="quiet" onClick={() => setOpen(true)}>
          Show {(text.length - most).toLocaleString("en")} more characters
        </button>
      )}
    </bdi>
  );
}

/** What went wrong, for a person; nothing for an empty text. */
export function Alert({ text }: { text: string }) {
  if (!text) return null;
  return <p class="problem" role="alert"><Visible text={text} /></p>;
}
