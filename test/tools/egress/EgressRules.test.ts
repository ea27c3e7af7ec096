import { assert, describe, it } from "@effect/vitest"
import { makeEgressRules } from "../../../src/tools/Egress.ts"
import { canonicalAddress, isPublicAddress, readWebAddress } from "../../../src/tools/egress/WebAddress.ts"
import { privateUrls, privateV4, privateV6, trickyUrls, writtenV4 } from "./privateAddresses.ts"

const nothingSet = { webAllowHosts: [], webDenyHosts: [], egressAllow: [] }

/** True if a connection would be opened, given that the host's name has these addresses. */
const passes = (
  url: string,
  addresses: ReadonlyArray<string>,
  settings: Partial<Parameters<typeof makeEgressRules>[0]> = {},
  isConfigured = false,
  own: ReadonlyArray<string> = []
): boolean => {
  const rules = makeEgressRules({ ...nothingSet, ...settings })
  const address = readWebAddress(url)
  if (address === null || !rules.admits(address, isConfigured)) return false
  const found = address.isLiteral ? [address.host] : addresses
  return rules.reachable(address, found, own, isConfigured).length > 0
}

const publicV4 = [
  "1.1.1.1",
  "8.8.8.8",
  "9.255.255.255",
  "11.0.0.1",
  "100.63.255.255",
  "100.128.0.1",
  "126.0.0.1"
]
const moreV4 = ["172.15.255.255", "172.32.0.1", "192.167.1.1", "192.169.1.1", "198.17.0.1", "223.255.255.1"]
const publicV6 = ["2001:4860:4860::8888", "2606:4700::1111", "2a00:1450:4001::1", "2400:cb00::1", "2003::1"]

describe("an address", () => {
  it("an address is public only if it is allocated on the Internet", () => {
    for (const address of [...privateV4, ...privateV6]) assert.isFalse(isPublicAddress(address), address)
    for (const address of [...publicV4, ...moreV4, ...publicV6])
      assert.isTrue(isPublicAddress(address), address)
  })

  it("an address has one canonical form, however it is written", () => {
    assert.strictEqual(canonicalAddress("::ffff:10.1.2.3"), "10.1.2.3")
    assert.strictEqual(canonicalAddress("::FFFF:a01:203"), "10.1.2.3")
    assert.strictEqual(canonicalAddress("2606:4700:0:0:0:0:0:1111"), "2606:4700::1111")
    for (const none of ["", "x", "1.2.3", "0x7f.0.0.1", "127.1", "fe80::1%eth0", "1.2.3.4/8"]) {
      assert.isNull(canonicalAddress(none), none)
    }
  })
})

describe("a URL of a private address", () => {
  it("the URL of a private address is refused in every form", () => {
    assert.isAtLeast(privateUrls.length, 1000)
    for (const url of privateUrls) {
      for (const addresses of [["127.0.0.1"], ["::1"], []]) assert.isFalse(passes(url, addresses), url)
    }
  })

  it("the URL of a private address is refused where the same form of a public one is allowed", () => {
    for (const [form, write] of Object.entries(writtenV4)) {
      // A form that embeds one address in another is refused whatever it embeds.
      const isPlain = !/compatible|translated|NAT64|6to4|Teredo|ISATAP/.test(form)
      assert.strictEqual(passes(`http://${write("93.184.215.14")}/`, []), isPlain, form)
    }
    for (const url of [
      "http://www.example.com/",
      "https://WWW.example.com./a?b#c",
      "http://bücher.example/"
    ]) {
      assert.isTrue(passes(url, ["93.184.215.14"]), url)
    }
  })

  it("a malformed URL is refused, even if it leads to a public address", () => {
    const admitted = trickyUrls.filter((url) => passes(url, ["93.184.215.14"]))
    assert.deepStrictEqual(admitted, [])
  })
})

describe("the addresses of a host", () => {
  const url = "http://www.example.com/"

  it("the addresses of a host must all be public", () => {
    assert.isTrue(passes(url, ["93.184.215.14", "2606:4700::1111"]))
    for (const notPublic of [...privateV4, ...privateV6, "::ffff:127.0.0.1", "nonsense"]) {
      assert.isFalse(passes(url, [notPublic]), notPublic)
      assert.isFalse(passes(url, ["93.184.215.14", notPublic]), notPublic)
      assert.isFalse(passes(url, [notPublic, "93.184.215.14"]), notPublic)
    }
  })

  it("the addresses of a host must not be this machine's own", () => {
    assert.isFalse(passes(url, ["93.184.215.14"], {}, false, ["::ffff:93.184.215.14"]))
    assert.isTrue(passes(url, ["93.184.215.14"], {}, false, ["93.184.215.15"]))
  })

  it("the addresses of a host are tried IPv4 first, each once", () => {
    const address = readWebAddress(url)
    assert.isNotNull(address)
    const found = ["2606:4700::1111", "1.1.1.1", "::ffff:1.1.1.1", "8.8.8.8"]
    assert.deepStrictEqual(makeEgressRules(nothingSet).reachable(address!, found, [], false), [
      "1.1.1.1",
      "8.8.8.8",
      "2606:4700::1111"
    ])
  })
})

describe("the settings", () => {
  it("the settings allow the listed private addresses, at any port, and no others", () => {
    const settings = { egressAllow: ["10.1.2.3", "FD00:0::7"] }
    for (const url of [
      "http://10.1.2.3/",
      "http://10.1.2.3:8080/",
      "http://0x0a010203/",
      "http://[::ffff:10.1.2.3]:9/",
      "http://[fd00::7]:81/"
    ]) {
      assert.isTrue(passes(url, [], settings), url)
    }
    for (const url of [
      "http://10.1.2.4/",
      "http://[fd00::8]/",
      "http://8.8.8.8:8080/",
      "http://[::10.1.2.3]/"
    ]) {
      assert.isFalse(passes(url, [], settings), url)
    }
    assert.isTrue(passes("http://wiki.corp:3000/", ["10.1.2.3"], settings))
    assert.isFalse(passes("http://wiki.corp:3000/", ["10.1.2.3", "10.1.2.4"], settings))
    assert.isFalse(passes("http://wiki.corp:3000/", ["10.1.2.3", "8.8.8.8"], settings))
  })

  it("the settings limit requests to the allowed hosts, and exclude the denied ones", () => {
    const allowed = { webAllowHosts: ["example.com", "example.org"] }
    const denied = { webDenyHosts: ["example.com"] }
    const hosts = ["example.com", "www.example.com", "a.b.example.com.", "EXAMPLE.com"]
    for (const host of hosts) {
      assert.isTrue(passes(`http://${host}/`, ["8.8.8.8"], allowed), host)
      assert.isFalse(passes(`http://${host}/`, ["8.8.8.8"], denied), host)
      assert.isFalse(passes(`http://${host}/`, ["8.8.8.8"], { ...allowed, ...denied }), host)
    }
    for (const host of ["notexample.com", "example.com.evil.net", "8.8.8.8"]) {
      assert.isFalse(passes(`http://${host}/`, ["8.8.8.8"], allowed), host)
      assert.isTrue(passes(`http://${host}/`, ["8.8.8.8"], denied), host)
    }
  })

  it("exempt the operator's own address from host lists and ports, but not from the address check", () => {
    const url = "http://search.example.net:8888/"
    const settings = { webAllowHosts: ["example.com"], webDenyHosts: ["search.example.net"] }
    assert.isFalse(passes(url, ["8.8.8.8"], settings))
    assert.isTrue(passes(url, ["8.8.8.8"], settings, true))
    assert.isFalse(passes(url, ["10.1.2.3"], settings, true))
    assert.isTrue(passes("http://searxng:8080/", ["10.1.2.3"], { egressAllow: ["10.1.2.3"] }, true))
  })
})
