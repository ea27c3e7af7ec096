/** What the color of a message or a status says. */
export type Tone = "neutral" | "success" | "warning" | "danger"
