/** The first that matches wins: Edge and Opera also name Chrome, and Chrome also names Safari. */
const browsers = [
  [/Edg(e|A|iOS)?\//, "Edge"],
  [/OPR\//, "Opera"],
  [/Firefox\/|FxiOS\//, "Firefox"],
  [/Chrome\/|Chromium\/|CriOS\//, "Chrome"],
  [/Safari\//, "Safari"]
] as const

const systems = [
  [/iPhone|iPad/, "iOS"],
  [/Android/, "Android"],
  [/Windows/, "Windows"],
  [/Mac OS X|Macintosh/, "macOS"],
  [/CrOS/, "ChromeOS"],
  [/Linux/, "Linux"]
] as const

const nameIn = (known: typeof browsers | typeof systems, userAgent: string): string | undefined =>
  known.find(([pattern]) => pattern.test(userAgent))?.[1]

/** The common name of the program that sent this `User-Agent`, such as "Firefox on Linux". */
export const deviceName = (userAgent: string | null): string => {
  if (userAgent === null) return "Unknown device"
  const browser = nameIn(browsers, userAgent) ?? "Unknown browser"
  const system = nameIn(systems, userAgent)
  return system === undefined ? browser : `${browser} on ${system}`
}
