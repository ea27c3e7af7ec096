import DOMPurify from "dompurify"
import { inTurn } from "./inTurn.ts"

/** Bounds of one formula. */
const charactersMax = 4_000
const expansionsMax = 500
const sizeMax = 20

const loadKatex = async () => (await import("katex")).default

type Katex = Awaited<ReturnType<typeof loadKatex>>

const fill = (place: HTMLElement, katex: Katex): void => {
  const { math = "inline", tex = "" } = place.dataset
  const html = katex.renderToString(tex, {
    displayMode: math === "display",
    output: "mathml",
    maxExpand: expansionsMax,
    maxSize: sizeMax,
    strict: "ignore",
    trust: false
  })
  const formula = DOMPurify.sanitize(html, {
    USE_PROFILES: { mathMl: true },
    ADD_TAGS: ["semantics"],
    FORBID_ATTR: ["style", "href", "class"],
    FORBID_TAGS: ["style", "annotation"],
    // It repeats the source.
    ADD_FORBID_CONTENTS: ["annotation"],
    RETURN_DOM_FRAGMENT: true
  })
  const holder = document.createElement("span")
  holder.className = `formula formula-${math}`
  if (math === "display") holder.tabIndex = 0
  holder.append(formula)
  place.replaceWith(holder)
}

/** Puts MathML in place of the formulas' sources; what is no formula stays as it was written. */
export const fillMath = async (element: HTMLElement): Promise<void> => {
  const places = [...element.querySelectorAll<HTMLElement>("[data-math]")].filter(
    ({ dataset }) => (dataset["tex"] ?? "").length <= charactersMax
  )
  if (places.length === 0) return
  const katex = await loadKatex()
  // The source is all that can be shown of others.
  for (const place of places) void inTurn(() => fill(place, katex)).catch(() => undefined)
}
