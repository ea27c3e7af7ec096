/** A browser without pages: keeps cookies, and follows redirects one at a time. */
export interface CookieJar {
  /**
   * Sends a GET with the cookies of that origin and path behind those of the headers, and keeps those of the
   * answer.
   */
  readonly get: (url: string, headers?: Readonly<Record<string, string>>) => Promise<Response>
  /** Follows redirects until one leads to an address that begins so, which isn't requested. */
  readonly followTo: (url: string, end: string) => Promise<string>
  readonly cookies: (origin: string) => ReadonlyMap<string, KeptCookie>
}

interface KeptCookie {
  readonly value: string
  readonly path: string
  /** The attributes that were set, in lower case. */
  readonly attributes: ReadonlyArray<string>
}

const redirectsMax = 10

const attributeOf = (attributes: ReadonlyArray<string>, name: string): string | undefined =>
  attributes.find((attribute) => attribute.toLowerCase().startsWith(`${name}=`))?.slice(name.length + 1)

const isExpired = (attributes: ReadonlyArray<string>): boolean => {
  const maxAge = attributeOf(attributes, "max-age")
  const expires = attributeOf(attributes, "expires")
  return maxAge === undefined
    ? expires !== undefined && new Date(expires).getTime() <= Date.now()
    : Number(maxAge) <= 0
}

/** Source: RFC 6265, section 5.1.4. */
const isWithin = (path: string, cookiePath: string): boolean =>
  path === cookiePath || path.startsWith(cookiePath.endsWith("/") ? cookiePath : `${cookiePath}/`)

export const makeCookieJar = (): CookieJar => {
  const jars = new Map<string, Map<string, KeptCookie>>()
  const jarOf = (origin: string) => {
    const jar = jars.get(origin) ?? new Map<string, KeptCookie>()
    jars.set(origin, jar)
    return jar
  }

  const get: CookieJar["get"] = async (url, headers = {}) => {
    const { origin, pathname } = new URL(url)
    const jar = jarOf(origin)
    const kept = [...jar]
      .filter(([, { path }]) => isWithin(pathname, path))
      .map(([name, { value }]) => `${name}=${value}`)
    const { cookie: given, ...others } = headers
    const cookie = [...(given === undefined ? [] : [given]), ...kept].join("; ")
    const answer = await fetch(url, {
      headers: { ...others, ...(cookie === "" ? {} : { cookie }) },
      redirect: "manual"
    })
    for (const line of answer.headers.getSetCookie()) {
      const [pair = "", ...attributes] = line.split(";").map((part) => part.trim())
      const [, name = "", value = ""] = /^([^=]*)=(.*)$/s.exec(pair) ?? []
      if (isExpired(attributes)) jar.delete(name)
      else {
        const path = attributeOf(attributes, "path") ?? "/"
        jar.set(name, { value, path, attributes: attributes.map((attribute) => attribute.toLowerCase()) })
      }
    }
    return answer
  }

  const followTo: CookieJar["followTo"] = async (url, end) => {
    let next = url
    for (let redirects = 0; redirects < redirectsMax; redirects++) {
      if (next.startsWith(end)) return next
      const answer = await get(next)
      const location = answer.headers.get("location")
      if (location === null) {
        throw new Error(`No redirect but ${answer.status} at ${next}: ${await answer.text()}`)
      }
      next = new URL(location, next).href
    }
    throw new Error(`More than ${redirectsMax} redirects`)
  }

  return { get, followTo, cookies: jarOf }
}
