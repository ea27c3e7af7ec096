import DOMPurify from "dompurify"

/** Turns the HTML of a block into nodes without anything that runs, loads, or leads elsewhere unseen. */

const allowedTags =
  "a blockquote br code del em h3 h4 h5 h6 hr li ol p pre s span strong table tbody td th thead tr ul".split(
    " "
  )
/** Beside `href`, the only one with an address. */
const plainAttributes = [
  "align",
  "data-citations",
  "data-host",
  "data-math",
  "data-tex",
  "rel",
  "start",
  "target"
]

/** A button for each number that cites something; the others stay as they were written. */
const fillCitations = (fragment: DocumentFragment, citable: ReadonlySet<number>): void => {
  for (const mark of fragment.querySelectorAll<HTMLElement>("[data-citations]")) {
    const numbers = (mark.dataset["citations"] ?? "").split(",").map(Number)
    if (!numbers.every((number) => citable.has(number))) {
      mark.replaceWith(mark.textContent)
      continue
    }
    mark.replaceWith(
      ...numbers.map((number) => {
        const button = document.createElement("button")
        button.type = "button"
        button.className = "citation"
        button.dataset["citation"] = String(number)
        button.textContent = String(number)
        button.ariaLabel = `Source ${number}`
        return button
      })
    )
  }
}

/** Wide tables scroll by themselves. */
const wrapTables = (fragment: DocumentFragment): void => {
  for (const table of fragment.querySelectorAll("table")) {
    const frame = document.createElement("div")
    frame.className = "table-frame"
    frame.tabIndex = 0
    frame.role = "region"
    frame.ariaLabel = "Table"
    table.replaceWith(frame)
    frame.append(table)
  }
}

export const render = (html: string, citable: ReadonlySet<number>): DocumentFragment => {
  const fragment = DOMPurify.sanitize(html, {
    ALLOWED_TAGS: allowedTags,
    ALLOWED_ATTR: ["href", ...plainAttributes],
    ADD_URI_SAFE_ATTR: plainAttributes,
    ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
    ALLOW_ARIA_ATTR: false,
    ALLOW_DATA_ATTR: false,
    RETURN_DOM_FRAGMENT: true
  })
  fillCitations(fragment, citable)
  wrapTables(fragment)
  return fragment
}
