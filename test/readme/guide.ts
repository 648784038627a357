import { readFile } from "node:fs/promises";
import type { Major, Project } from "../projects/project.ts";
import { type Block, blocksOf } from "./blocks.ts";

/** A chapter of a guide: what a reader has who goes from the README's quick start straight to it. */
export interface Chapter {
  /** Its folder in a project, from the names of page and chapter. */
  readonly folder: string;
  /** By name: those of the quick start, and over them its own. */
  readonly files: ReadonlyMap<string, string>;
  /** Its own TypeScript blocks. */
  readonly programs: readonly Block[];
  /** Where it is about one major of Drizzle. */
  readonly major: Major | undefined;
}

/** Files of the quick start that a chapter may build on. */
const shared = ["schema.ts", "db.ts", "queue.ts", "jobs.ts", "handlers.ts"];

export async function readGuide(page: string): Promise<{ blocks: Block[]; chapters: Chapter[] }> {
  const read = (path: string) => readFile(new URL(`../../${path}`, import.meta.url), "utf8");
  const quickStart = blocksOf(await read("README.md")).filter(
    ({ chapter, name }) => chapter === "Quick start" && name !== undefined && shared.includes(name),
  );
  const blocks = blocksOf(await read(`docs/${page}.md`));
  const programs = blocks.filter(({ language }) => language === "ts");
  const titles = [...new Set(programs.map(({ chapter = "" }) => chapter))];
  const chapters = titles.map((title) => {
    const own = programs.filter(({ chapter }) => chapter === title);
    return {
      folder: `${page}/${title.toLowerCase().replaceAll(/[^\w.]+/g, "-")}`,
      files: new Map([...quickStart, ...own].map(({ name, text }) => [name ?? "nameless.ts", text])),
      programs: own,
      major: /Drizzle (0\.45|1\.0)$/.exec(title)?.[1] as Major | undefined,
    };
  });
  return { blocks, chapters };
}

/** Writes a chapter's files into a project, with some of them replaced. */
export async function writeChapter(
  project: Project,
  { folder, files }: Chapter,
  into = folder,
  replaced: Readonly<Record<string, string>> = {},
): Promise<void> {
  for (const [name, text] of files) await project.write(`${into}/${name}`, replaced[name] ?? text);
}
