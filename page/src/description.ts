// The description of a question, cut into its sections: the program's own words, and foreign text with its label.

export interface Section {
  /** The program's own words: the label of the quotation, or a sentence that stands alone. */
  label: string;
  /** The foreign text, its lines as they were before they were wrapped; null for a sentence. */
  quote: string | null;
}

const FOREIGN = "    │";
const GOES_ON = "    ┆ ";
const LEFT_OUT = "    ⋮ ";

/** Read a description as `restgpt.tools.quotation` writes it; only marked lines are foreign. */
export function sectionsOf(description: string): Section[] {
  const found: Section[] = [];
  let own: string[] = [];
  let foreign: string[] | null = null;
  const close = () => {
    if (own.length || foreign) found.push({ label: own.join(" "), quote: foreign ? foreign.join("\n") : null });
    own = [];
    foreign = null;
  };
  for (const line of description.split("\n")) {
    if (line.startsWith(GOES_ON) && foreign?.length) foreign.push(foreign.pop() + line.slice(GOES_ON.length));
    else if (line.startsWith(FOREIGN)) (foreign ??= []).push(line.slice(FOREIGN.length + 1));
    else if (line.startsWith(LEFT_OUT)) (foreign ??= []).push(`[${line.slice(LEFT_OUT.length)}]`);
    else if (line.trim() === "") {
      if (foreign) close();
      else if (own.length && !own.at(-1)!.endsWith(":")) close();
    } else {
      if (foreign) close();
      own.push(line.trim());
    }
  }
  close();
  return found;
}

const UNUSABLE = "That decision cannot be used:";

/** Take out the note on an answer that could not be used; it is shown at the form. */
export function withoutNote(sections: Section[]): { note: string; rest: Section[] } {
  const [first, ...rest] = sections;
  return first?.label === UNUSABLE ? { note: first.quote ?? "", rest } : { note: "", rest: sections };
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
