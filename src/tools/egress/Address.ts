import ipaddr, { type IPv4, type IPv6 } from "ipaddr.js"

/** What the library takes for ordinary although it leads inside: the host of a virtual machine there answers all its guests. */
const insideV4: ReadonlyArray<readonly [IPv4, number]> = [ipaddr.IPv4.parseCIDR("168.63.129.16/32")]

/** All of the Internet that is handed out is in here; what translates to IPv4 is not, and the library knows the rest. */
const global: readonly [IPv6, number] = ipaddr.IPv6.parseCIDR("2000::/3")

const isV4 = (address: IPv4 | IPv6): address is IPv4 => address.kind() === "ipv4"

const parse = (text: string): IPv4 | IPv6 | null => {
  // The library also reads forms of IPv4 with hexadecimal parts or without some, which nothing here should ever see.
  if (!ipaddr.IPv4.isValidFourPartDecimal(text) && !ipaddr.IPv6.isValid(text)) return null
  const address = ipaddr.process(text)
  return isV4(address) || address.zoneId === undefined ? address : null
}

/** An IP address in its one form, with an IPv4 address that is written as an IPv6 one as what it is; null for anything else. */
export const canonicalAddress = (text: string): string | null => parse(text)?.toString() ?? null

/** Whether the address belongs to the Internet at large, so that nothing of a network of one's own answers there. */
export const isPublicAddress = (text: string): boolean => {
  const address = parse(text)
  if (address === null || address.range() !== "unicast") return false
  return isV4(address) ? !insideV4.some(([net, bits]) => address.match(net, bits)) : isPublicV6(address)
}

const isPublicV6 = (address: IPv6): boolean => address.match(...global) && !isTunnel(address)

/** The end of a tunnel that carries IPv6 over a network of one's own (ISATAP): whatever its prefix, it ends in an IPv4 address. */
const isTunnel = ({ parts }: IPv6): boolean => parts[5] === 0x5efe && (parts[4] === 0 || parts[4] === 0x0200)
