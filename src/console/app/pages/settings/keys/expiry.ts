const daySeconds = 86_400

/** The terms for which a new key can be valid. */
export const expiryChoices = [
  { value: "7", label: "7 days" },
  { value: "30", label: "30 days" },
  { value: "90", label: "90 days" },
  { value: "365", label: "1 year" },
  { value: "never", label: "No expiry" }
] as const

export const defaultExpiry = "90"

/** Seconds from now; null: until it is revoked. */
export const expirySeconds = (choice: string): number | null =>
  choice === "never" ? null : Number(choice) * daySeconds
