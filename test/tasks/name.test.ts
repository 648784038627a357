import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { OptionsError } from "../../src/errors.ts";
import { checkName } from "../../src/tasks/name.ts";

describe("checkName", () => {
  test.each([
    ["one character", "q"],
    ["a space", " "],
    ["SQL and placeholders", "'; drop table x; -- $1 ? :x %s \\"],
    ["512 bytes of one byte each", "x".repeat(512)],
    ["512 bytes of two", "é".repeat(256)],
    ["512 bytes of three and two", `${"€".repeat(170)}é`],
    ["512 bytes of four", "😀".repeat(128)],
    ["control characters but NUL", "\u0001\t\n\u007f"],
  ])("takes %s", (_, name) => {
    expect(checkName("f", name)).toBe(name);
  });

  test.each([
    ["no text", ""],
    ["513 bytes of one byte each", "x".repeat(513)],
    ["513 bytes of two and one", `${"é".repeat(256)}x`],
    ["513 bytes of three", "€".repeat(171)],
    ["516 bytes of four", "😀".repeat(129)],
    ["a megabyte", "x".repeat(1_048_576)],
    ["a NUL", "a\0b"],
    ["a lone high surrogate", "a\ud800b"],
    ["a lone low surrogate", "\udc00"],
    ["surrogates the wrong way round", "\udc00\ud800"],
    ["undefined", undefined],
    ["null", null],
    ["a number", 5],
    ["a bigint", 5n],
    ["a boolean", true],
    ["a symbol", Symbol("q")],
    ["an array", ["q"]],
    ["an object", { toString: () => "q" }],
    ["a String", new String("q")],
    ["a function", () => "q"],
  ])("refuses %s", (_, name) => {
    const check = () => checkName("call.field", name);
    expect(check).toThrow(OptionsError);
    expect(check).toThrow(expect.objectContaining({ field: "call.field", value: name }));
    expect(check).toThrow(/^call\.field: expected 1 to 512 UTF-8 bytes of well-formed text without NUL, received /);
  });

  test("the limit is in UTF-8 bytes, for any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 600, size: "max" }), (name) => {
        const isGood = name !== "" && !name.includes("\0") && Buffer.byteLength(name, "utf8") <= 512;
        if (isGood) expect(checkName("f", name)).toBe(name);
        else expect(() => checkName("f", name)).toThrow(OptionsError);
      }),
    );
  });
});
