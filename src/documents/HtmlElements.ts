/** What an element means for the text that is made of a page. */

/** Elements whose content isn't text of the page: what runs, what is drawn, what is filled in, what leads elsewhere. */
export const skippedElements: ReadonlySet<string> = new Set([
  "audio",
  "button",
  "canvas",
  "datalist",
  "dialog",
  "embed",
  "frameset",
  "iframe",
  "map",
  "nav",
  "noscript",
  "object",
  "script",
  "select",
  "style",
  "svg",
  "template",
  "textarea",
  "video"
])

/** Elements that never have content. */
export const voidElements: ReadonlySet<string> = new Set([
  "area",
  "base",
  "basefont",
  "br",
  "col",
  "embed",
  "frame",
  "hr",
  "img",
  "input",
  "link",
  "meta",
  "param",
  "source",
  "track",
  "wbr"
])

/** Elements that stand on lines of their own. */
export const blockElements: ReadonlySet<string> = new Set([
  "address",
  "article",
  "aside",
  "body",
  "caption",
  "center",
  "dd",
  "details",
  "dir",
  "div",
  "dl",
  "dt",
  "fieldset",
  "figcaption",
  "figure",
  "footer",
  "form",
  "header",
  "hgroup",
  "legend",
  "main",
  "p",
  "section",
  "summary",
  "tbody",
  "tfoot",
  "thead"
])

/** Elements in which a footer says something about the text, not about the site. */
export const textSections: ReadonlySet<string> = new Set(["article", "blockquote", "main"])

/** Elements with an effect that ends with them. Only these are followed; the depth of the others doesn't matter. */
export const followedElements: ReadonlySet<string> = new Set([
  ...textSections,
  "a",
  "code",
  "h1",
  "h2",
  "h3",
  "h4",
  "h5",
  "h6",
  "li",
  "ol",
  "pre",
  "table",
  "td",
  "th",
  "title",
  "tr",
  "ul"
])

const headings = ["h1", "h2", "h3", "h4", "h5", "h6"]

/** What an element's beginning closes where it was left open, and what keeps that from going further up. */
export const impliedEnds: ReadonlyMap<
  string,
  { readonly ends: ReadonlySet<string>; readonly within: ReadonlySet<string> }
> = new Map([
  ["a", { ends: new Set(["a"]), within: new Set(["td", "th", "li"]) }],
  ["li", { ends: new Set(["li"]), within: new Set(["ul", "ol", "td", "th"]) }],
  ["td", { ends: new Set(["td", "th"]), within: new Set(["table"]) }],
  ["th", { ends: new Set(["td", "th"]), within: new Set(["table"]) }],
  ["tr", { ends: new Set(["tr"]), within: new Set(["table"]) }],
  ...headings.map((name) => [name, { ends: new Set(headings), within: new Set(["td", "th", "li"]) }] as const)
])

/** An element's end closes nothing outside of the cell that it is in. */
export const cellElements: ReadonlySet<string> = new Set(["td", "th"])
export const tableElements: ReadonlySet<string> = new Set(["table", "tr", "td", "th"])
