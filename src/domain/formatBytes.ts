const units = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"] as const

/** Formats a size by powers of 1,000, such as 1.5 MB. */
export const formatBytes = (bytes: number): string => {
  const power = bytes < 1 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), units.length - 1)
  return new Intl.NumberFormat("en-US", {
    style: "unit",
    unit: units[power] ?? "byte",
    unitDisplay: power === 0 ? "long" : "short",
    maximumFractionDigits: 1
  }).format(bytes / 1_000 ** power)
}
