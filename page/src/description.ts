// The description of a question, cut into its sections: the program's own words, and foreign text with its label.

export interface Section {
  /** The program's own words: the label of the quotation, or a sentence that stands alone. */
  label: string;
  /** The foreign text, its lines as they were before they were wrapped; empty for a sentence. */
  quote: Part[];
}

/** Foreign text, or a remark of the program's own between two parts of it. */
export interface Part {
  text: string;
  isRemark: boolean;
}

const FOREIGN = "    │";
const GOES_ON = "    ┆ ";
const LEFT_OUT = "    ⋮ ";

/** Read a description as `restgpt.tools.text.quotation` writes it; only marked lines are foreign. */
export function sectionsOf(description: string): Section[] {
  const found: Section[] = [];
  let own: string[] = [];
  let quote: Part[] = [];
  const close = () => {
    if (own.length || quote.length) found.push({ label: own.join(" "), quote });
    own = [];
    quote = [];
  };
  const add = (text: string, isRemark: boolean) => {
    const last = quote.at(-1);
    if (last && !isRemark && !last.isRemark) last.text += `\n${text}`;
    else quote.push({ text, isRemark });
  };
  for (const line of description.split("\n")) {
    const last = quote.at(-1);
    if (line.startsWith(GOES_ON) && last && !last.isRemark) last.text += line.slice(GOES_ON.length);
    else if (line.startsWith(FOREIGN)) add(line.slice(FOREIGN.length + 1), false);
    else if (line.startsWith(LEFT_OUT)) add(line.slice(LEFT_OUT.length), true);
    else if (line.trim() === "") {
      if (quote.length || (own.length && !own.at(-1)!.endsWith(":"))) close();
    } else {
      if (quote.length) close();
      own.push(line.trim());
    }
  }
  close();
  return found;
}

export function textOf(section: Section | undefined): string {
  return (section?.quote ?? []).map((part) => part.text).join("\n");
}

const UNUSABLE = "That decision cannot be used:";

/** Take out the note on an answer that could not be used; it is shown at the form. */
export function withoutNote(sections: Section[]): { note: string; rest: Section[] } {
  const [first, ...rest] = sections;
  return first?.label === UNUSABLE ? { note: textOf(first), rest } : { note: "", rest: sections };
}

/** The problems of an edit by the JSON pointer of the argument; the key "" has what belongs to no field. */
export function problemsOf(note: string): Map<string, string> {
  const found = new Map<string, string>();
  const listed = /do not fit: ([\s\S]*)$/.exec(note)?.[1];
  if (!listed) return note ? found.set("", note) : found;
  for (const problem of listed.split(/; (?=\/)/)) {
    const [, pointer = "", message = problem] = /^(\/[^\s:]*): ([\s\S]*)$/.exec(problem) ?? [];
    found.set(pointer === "/" ? "" : pointer, message);
  }
  return found;
}
