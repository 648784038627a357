import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";

/** Links of a Markdown file that lead nowhere in this repository. Those to other sites are not followed. */
export async function brokenLinks(page: URL): Promise<string[]> {
  const markdown = await readFile(page, "utf8");
  const broken: string[] = [];
  for (const [, link = ""] of markdown.matchAll(/\]\(([^)]+)\)/g)) {
    if (link.startsWith("https://")) continue;
    const target = new URL(link, page);
    const anchor = target.hash.slice(1);
    target.hash = "";
    const isThere = existsSync(target) && (!anchor || anchorsOf(await readFile(target, "utf8")).includes(anchor));
    if (!isThere) broken.push(link);
  }
  return broken;
}

/** As GitHub makes them of the headings. */
function anchorsOf(markdown: string): string[] {
  const titles = [...markdown.matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) => title.toLowerCase());
  return titles.map((title) => title.replaceAll(/[^\w\- ]/g, "").replaceAll(" ", "-"));
}
