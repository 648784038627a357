/** A fenced block of code in a Markdown text. */
export interface Block {
  readonly language: string;
  /** From a first line such as `// schema.ts`. */
  readonly name: string | undefined;
  /** The chapter, of the second level, that it stands in. */
  readonly chapter: string | undefined;
  readonly text: string;
}

export function blocksOf(markdown: string): Block[] {
  const fenced = /^```(\w*)[^\n]*\n(.*?)^```$/gms;
  return [...markdown.matchAll(fenced)].map(({ index, 1: language = "", 2: text = "" }) => ({
    language,
    name: /^\/\/ (\S+\.(?:ts|json))\n/.exec(text)?.[1],
    chapter: [...markdown.slice(0, index).matchAll(/^## (.+)$/gm)].at(-1)?.[1],
    text,
  }));
}

/** Every line of every shell block. */
export function commandsOf(blocks: readonly Block[]): string[] {
  return blocks.filter(({ language }) => language === "sh").flatMap(({ text }) => text.trim().split("\n"));
}

/** Packages that a line of `npm install` names. */
export function installedBy(command: string): string[] {
  const [, words = ""] = /^npm install ([^&]+)$/.exec(command) ?? [];
  return words.split(" ").filter((word) => word && !word.startsWith("-"));
}

/** Packages that a TypeScript text imports. */
export function importsOf(text: string): string[] {
  const modules = [...text.matchAll(/\bfrom "([^."][^"]*)"/g)].map(([, module = ""]) => module);
  return modules.map((module) => /^(@[^/]+\/)?[^/]+/.exec(module)![0]);
}
