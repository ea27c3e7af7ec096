import { assert, describe, it } from "@effect/vitest"
import { canonicalAddress, isPublicAddress, readWebAddress } from "../../../src/tools/egress/WebAddress.ts"
import { makeEgressRules } from "../../../src/tools/egress/EgressRules.ts"
import { insideUrls, insideV4, insideV6, trickyUrls, writtenV4 } from "./insideAddresses.ts"

const nothingSet = { webAllowHosts: [], webDenyHosts: [], egressAllow: [] }

/** Whether anything would be connected to, if a name had these addresses. */
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
  it("is public only if it is handed out on the Internet", () => {
    for (const address of [...insideV4, ...insideV6]) assert.isFalse(isPublicAddress(address), address)
    for (const address of [...publicV4, ...moreV4, ...publicV6])
      assert.isTrue(isPublicAddress(address), address)
  })

  it("is one thing, however it is written", () => {
    assert.strictEqual(canonicalAddress("::ffff:10.1.2.3"), "10.1.2.3")
    assert.strictEqual(canonicalAddress("::FFFF:a01:203"), "10.1.2.3")
    assert.strictEqual(canonicalAddress("2606:4700:0:0:0:0:0:1111"), "2606:4700::1111")
    for (const none of ["", "x", "1.2.3", "0x7f.0.0.1", "127.1", "fe80::1%eth0", "1.2.3.4/8"]) {
      assert.isNull(canonicalAddress(none), none)
    }
  })
})

describe("a URL that leads inside", () => {
  it("is refused in every form", () => {
    assert.isAtLeast(insideUrls.length, 1000)
    for (const url of insideUrls) {
      for (const addresses of [["127.0.0.1"], ["::1"], []]) assert.isFalse(passes(url, addresses), url)
    }
  })

  it("is refused for its own sake, not because nothing passes", () => {
    for (const [form, write] of Object.entries(writtenV4)) {
      // A form that hides an address inside of another is refused whatever it hides.
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

  it("is refused even where it leads outside, when it is no address of the web", () => {
    const outside = trickyUrls.filter((url) => passes(url, ["93.184.215.14"]))
    assert.deepStrictEqual(outside, [])
  })
})

describe("the addresses of a name", () => {
  const url = "http://www.example.com/"

  it("every address of a host must be public", () => {
    assert.isTrue(passes(url, ["93.184.215.14", "2606:4700::1111"]))
    for (const inside of [...insideV4, ...insideV6, "::ffff:127.0.0.1", "nonsense"]) {
      assert.isFalse(passes(url, [inside]), inside)
      assert.isFalse(passes(url, ["93.184.215.14", inside]), inside)
      assert.isFalse(passes(url, [inside, "93.184.215.14"]), inside)
    }
  })

  it("must not be this machine's own", () => {
    assert.isFalse(passes(url, ["93.184.215.14"], {}, false, ["::ffff:93.184.215.14"]))
    assert.isTrue(passes(url, ["93.184.215.14"], {}, false, ["93.184.215.15"]))
  })

  it("are tried IPv4 first, each once", () => {
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
  it("let named inside addresses be reached, at any port, and no others", () => {
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

  it("name the hosts that alone may be asked, and those that may not", () => {
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

  it("are above the lists and ports for what the operator named, and not above the addresses", () => {
    const url = "http://search.example.net:8888/"
    const settings = { webAllowHosts: ["example.com"], webDenyHosts: ["search.example.net"] }
    assert.isFalse(passes(url, ["8.8.8.8"], settings))
    assert.isTrue(passes(url, ["8.8.8.8"], settings, true))
    assert.isFalse(passes(url, ["10.1.2.3"], settings, true))
    assert.isTrue(passes("http://searxng:8080/", ["10.1.2.3"], { egressAllow: ["10.1.2.3"] }, true))
  })
})
