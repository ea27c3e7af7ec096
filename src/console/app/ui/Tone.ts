/** The meaning of the color of a message or a status. */
export type Tone = "neutral" | "success" | "warning" | "danger"
