/** Addresses that are not public, by family, and the ways to write them. */

/** Each stands for a range, most of them at one of its ends. */
export const privateV4: ReadonlyArray<string> = [
  "0.0.0.0",
  "0.255.255.255",
  "10.0.0.0",
  "10.20.30.40",
  "10.255.255.255",
  "100.64.0.1",
  "100.100.100.200",
  "100.127.255.255",
  "127.0.0.1",
  "127.8.9.10",
  "127.255.255.254",
  "168.63.129.16",
  "169.254.0.1",
  "169.254.169.254",
  "169.254.170.2",
  "169.254.255.255",
  "172.16.0.1",
  "172.31.255.255",
  "192.0.0.8",
  "192.0.0.192",
  "192.0.2.77",
  "192.88.99.1",
  "192.168.0.1",
  "192.168.255.255",
  "198.18.0.1",
  "198.19.255.255",
  "198.51.100.9",
  "203.0.113.200",
  "224.0.0.251",
  "239.255.255.250",
  "240.0.0.1",
  "255.255.255.255"
]

export const privateV6: ReadonlyArray<string> = [
  "::",
  "::1",
  "0:0:0:0:0:0:0:1",
  "0000:0000:0000:0000:0000:0000:0000:0001",
  "::2",
  "64:ff9b::808:808",
  "64:ff9b:1::1",
  "64:ff9b:1:ffff::a00:1",
  "100::1",
  "100:0:0:1::1",
  "2001::1",
  "2001:2::1",
  "2001:10::1",
  "2001:20::1",
  "2001:1ff:ffff::1",
  "2001:db8::1",
  "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
  "2002:808:808::1",
  "2620:4f:8000::1",
  "3fff::1",
  "3fff:fff:ffff::1",
  "4000::1",
  "5f00::1",
  "8000::1",
  "fc00::1",
  "fd00:ec2::254",
  "fdff:ffff::1",
  "fe80::1",
  "febf::1",
  "fec0::1",
  "feff::1",
  "ff00::1",
  "ff02::fb",
  "ff0e::1"
]

const partsOf = (address: string): ReadonlyArray<number> => address.split(".").map(Number)
const valueOf = (address: string): number => partsOf(address).reduce((value, part) => value * 256 + part, 0)
const hex = (number: number, digits = 1): string => number.toString(16).padStart(digits, "0")
const groupsOf = (address: string): string => {
  const [a = 0, b = 0, c = 0, d = 0] = partsOf(address)
  return `${hex(a * 256 + b)}:${hex(c * 256 + d)}`
}
const shifted = (text: string, zero: number): string =>
  text.replace(/\d/g, (digit) => String.fromCodePoint(zero + Number(digit)))

/** An IPv4 address as hosts of URLs may write it. */
export const writtenV4: Readonly<Record<string, (address: string) => string>> = {
  plain: (address) => address,
  "with a dot behind": (address) => `${address}.`,
  number: (address) => String(valueOf(address)),
  "hexadecimal number": (address) => `0x${hex(valueOf(address))}`,
  "capital hexadecimal number": (address) => `0X${hex(valueOf(address)).toUpperCase()}`,
  "octal number": (address) => `0${valueOf(address).toString(8)}`,
  "hexadecimal parts": (address) =>
    partsOf(address)
      .map((part) => `0x${hex(part)}`)
      .join("."),
  "octal parts": (address) =>
    partsOf(address)
      .map((part) => `0${part.toString(8)}`)
      .join("."),
  "octal parts with many zeros": (address) =>
    partsOf(address)
      .map((part) => `000000${part.toString(8)}`)
      .join("."),
  "two parts": (address) => `${partsOf(address)[0]}.${valueOf(address) % 2 ** 24}`,
  "three parts": (address) => `${partsOf(address)[0]}.${partsOf(address)[1]}.${valueOf(address) % 2 ** 16}`,
  "parts of three kinds": (address) => {
    const [a = 0, b = 0, c = 0, d = 0] = partsOf(address)
    return `0x${hex(a)}.0${b.toString(8)}.${c}.${d}`
  },
  "wide digits": (address) => shifted(address, 0xff10),
  "bold digits": (address) => shifted(address, 0x1d7ce),
  "wide dots": (address) => address.replaceAll(".", "。"),
  "half-wide dots": (address) => address.replaceAll(".", "｡"),
  "percent signs": (address) => address.replace(/\d/g, (digit) => `%3${digit}`),
  "a percent sign for a dot": (address) => address.replace(".", "%2e"),
  mapped: (address) => `[::ffff:${address}]`,
  "mapped in hexadecimal": (address) => `[::ffff:${groupsOf(address)}]`,
  "mapped in full": (address) => `[0:0:0:0:0:FFFF:${groupsOf(address)}]`,
  compatible: (address) => `[::${address}]`,
  translated: (address) => `[::ffff:0:${address}]`,
  NAT64: (address) => `[64:ff9b::${address}]`,
  "NAT64 of one's own": (address) => `[64:ff9b:1::${groupsOf(address)}]`,
  "6to4": (address) => `[2002:${groupsOf(address)}::1]`,
  Teredo: (address) => `[2001:0:${groupsOf(address)}::1]`,
  ISATAP: (address) => `[2606:2800:220:1:0:5efe:${groupsOf(address)}]`,
  "ISATAP of a global one": (address) => `[2606:2800:220:1:200:5efe:${groupsOf(address)}]`
}

/** URLs whose host isn't what it looks like, or that aren't the web's; none of them may be asked. */
export const trickyUrls: ReadonlyArray<string> = [
  "",
  " ",
  "http:",
  "http://",
  "http:///",
  "http://%",
  "http://.",
  "http://..",
  "http://[",
  "http://[]",
  "http://[::1",
  "http://[::1%25lo]/",
  "http://[fe80::1%eth0]/",
  "http://[127.0.0.1]/",
  "http://300.0.0.1/",
  "http://127.0.0.256/",
  "http://4294967297/",
  "http://1.2.3.4.5/",
  "http://0x/",
  "http://10.0.0.1:80:80/",
  "http://10.0.0.1:65536/",
  "http://10.0.0.1:-80/",
  "http:10.0.0.1/",
  "http:/10.0.0.1/",
  "http:///10.0.0.1/",
  "http:\\\\10.0.0.1\\",
  "//10.0.0.1/",
  "HTTP://10.0.0.1/",
  "hTtPs://10.0.0.1/",
  "  http://10.0.0.1/  ",
  "ht\ttp://10.0.0.1/",
  "http://10.0.\n0.1/",
  "http://10.0.0.1\r\nHost: www.example.com/",
  "http://www.example.com\\@10.0.0.1/",
  "http://10.0.0.1\\@www.example.com/",
  "http://10.0.0.1#@www.example.com/",
  "http://10.0.0.1?@www.example.com/",
  "http://www.example.com@10.0.0.1/",
  "http://www.example.com:80@10.0.0.1/",
  "http://www.example.com%40@10.0.0.1/",
  "http://somebody@www.example.com/",
  "http://somebody:secret@www.example.com/",
  "http://:secret@www.example.com/",
  "http://www.example.com%00.10.0.0.1/",
  "http://10.0.0.1%2f.www.example.com/",
  "http://10.0.0.1%20/",
  "http://10.0.0.1%09/",
  "http://www.example..com/",
  "http://.example.com/",
  "http://www.exam ple.com/",
  `http://${"a".repeat(64)}.example/`,
  `http://${"a.".repeat(140)}example/`,
  `http://www.example.com/${"a".repeat(5000)}`,
  "http://localhost/",
  "http://LocalHost/",
  "http://localhost./",
  "http://loc%61lhost/",
  "http://ｌｏｃａｌｈｏｓｔ/",
  "http://lo\u00adcalhost/",
  "http://ⓛocalhost/",
  "http://a.localhost/",
  "http://localhost.localdomain/",
  "http://ip6-localhost/",
  "http://printer/",
  "http://printer.lan/",
  "http://printer.local/",
  "http://router.home.arpa/",
  "http://wiki.corp/",
  "http://metadata/",
  "http://metadata.google.internal/",
  "http://host.docker.internal/",
  "http://kubernetes.default.svc/",
  "http://www.example.com:22/",
  "http://www.example.com:8080/",
  "https://www.example.com:8443/",
  "http://www.example.com:5432/",
  "file:///etc/passwd",
  "FILE:///etc/passwd",
  "file://www.example.com/etc/passwd",
  "file:/etc/passwd",
  "ftp://www.example.com/",
  "gopher://www.example.com/_x",
  "dict://www.example.com/d:x",
  "ldap://www.example.com/",
  "ws://www.example.com/",
  "wss://www.example.com/",
  "data:text/html,hello",
  "javascript:void(0)",
  "blob:http://www.example.com/1",
  "about:blank",
  "view-source:http://www.example.com/",
  "jar:http://www.example.com!/",
  "unix:/var/run/docker.sock",
  "http+unix://%2Fvar%2Frun%2Fdocker.sock/info",
  "url:http://www.example.com/",
  "node:fs",
  "www.example.com",
  "/etc/passwd",
  "../..",
  "not an address"
]

/** All of them as URLs. */
export const privateUrls: ReadonlyArray<string> = [
  ...privateV4.flatMap((address) =>
    Object.values(writtenV4).flatMap((write) => [
      `http://${write(address)}/`,
      `https://${write(address)}/x?y`
    ])
  ),
  ...privateV6.map((address) => `http://[${address}]/`),
  ...trickyUrls
]
