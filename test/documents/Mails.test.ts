import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readPlainText } from "../../src/documents/DocumentReader.ts"
import { makePdf } from "./PdfFixture.ts"
import { failureOf, limits, readHere, readThere } from "./Reading.ts"

const base64 = (bytes: Buffer): string => bytes.toString("base64").replace(/.{76}/g, "$&\r\n")

const headers = [
  "Received: from a.example by b.example; Mon, 01 Jun 2026 10:00:01 +0200",
  "From: =?UTF-8?Q?J=C3=BCrgen_Gro=C3=9F?= <juergen@example.com>",
  'To: "Ana, Sales" <ana@example.com>,',
  "\tteam@example.com",
  "Cc: =?windows-1251?B?yODt?= <ivan@example.com>",
  "Date: Mon, 1 Jun 2026 10:00:00 +0200",
  "Subject: =?utf-8?B?w5xiZXJzaWNodCA=?= =?iso-8859-1?Q?f=FCr_Mai?=",
  "MIME-Version: 1.0"
]

const mail = (type: string, ...parts: ReadonlyArray<string>): string =>
  [
    ...headers,
    `Content-Type: multipart/${type}; boundary="edge of parts"`,
    "",
    ...parts.map((part) => `--edge of parts\r\n${part}`),
    "--edge of parts--",
    ""
  ].join("\r\n")

const attachedMail = (...parts: ReadonlyArray<string>): string =>
  mail("mixed", ...parts).replaceAll("edge of parts", "inner edge")

const plain =
  "Content-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nDie Zahlen f=FCr Mai=\r\n sind da."
const html =
  "Content-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\n<p>Numbers for <b>May</b> – here</p>"
const attachment = (type: string, name: string, bytes: Buffer): string =>
  `Content-Type: ${type}\r\nContent-Disposition: attachment; ${name}\r\nContent-Transfer-Encoding: base64\r\n\r\n${base64(bytes)}`

const head = [
  "# Übersicht für Mai",
  "",
  "From: Jürgen Groß <juergen@example.com>",
  "To: Ana, Sales <ana@example.com>, <team@example.com>",
  "Cc: Иан <ivan@example.com>",
  "Date: Mon, 1 Jun 2026 10:00:00 +0200"
].join("\n")

describe("a mail", () => {
  it.effect("a mail is read as its headers and its decoded plain text", () =>
    Effect.gen(function* () {
      const read = yield* readHere(mail("alternative", plain, html), "eml")
      assert.strictEqual(read.mediaType, "message/rfc822")
      assert.strictEqual(read.text, `${head}\n\nDie Zahlen für Mai sind da.`)
      assert.isFalse(read.truncated)
    })
  )

  it.effect("a mail without plain text is read as the text of its HTML", () =>
    Effect.gen(function* () {
      const { text } = yield* readHere(mail("alternative", html), "eml")
      assert.strictEqual(text, `${head}\n\nNumbers for May – here`)
    })
  )

  it.live("a mail is read with the names and texts of its attachments", () =>
    Effect.gen(function* () {
      const bytes = mail(
        "mixed",
        plain,
        attachment(
          "application/pdf",
          "filename*0*=utf-8''B%C3%A9richt; filename*1=.pdf",
          makePdf([["Page one"]])
        ),
        attachment(
          "text/csv; charset=utf-8",
          'filename="=?utf-8?Q?Stra=C3=9Fen=2Ecsv?="',
          Buffer.from("a;b\n1;2\n")
        ),
        attachment("image/png", "filename=photo.png", Buffer.from("89504e470d0a1a0a0000000d49484452", "hex")),
        `Content-Type: message/rfc822\r\n\r\n${attachedMail(plain, attachment("text/plain", "filename=deep.txt", Buffer.from("deep text")))}`
      )
      const { text } = yield* readThere(bytes, "eml")
      assert.strictEqual(
        text,
        [
          head,
          "Die Zahlen für Mai sind da.",
          "## Attachment: Béricht.pdf",
          "Page one",
          "## Attachment: Straßen.csv",
          "a;b\n1;2",
          "## Attachment: photo.png",
          "(Not read: unsupported)",
          "## Attachment: message/rfc822",
          head,
          "Die Zahlen für Mai sind da.",
          "## Attachment: deep.txt",
          "deep text"
        ].join("\n\n")
      )
    })
  )

  it.effect("a mail isn't read as plain text outside the reader process", () =>
    Effect.gen(function* () {
      for (const bytes of [
        mail("mixed", plain),
        "From a@example.com Mon Jun  1 10:00:00 2026\nFrom: a\n\nx"
      ]) {
        assert.isNull(yield* Effect.promise(() => readPlainText(Buffer.from(bytes), "eml", limits)))
      }
    })
  )

  it.effect("a mail is detected by its content when its name has no extension", () =>
    Effect.gen(function* () {
      for (const extension of ["", "txt", "mail"]) {
        assert.strictEqual((yield* readHere(mail("mixed", plain), extension)).mediaType, "message/rfc822")
      }
    })
  )

  it.effect("a mail isn't confused with notes, logs and patches", () =>
    Effect.gen(function* () {
      const texts = [
        ["From: Anna\nTo: Ben\n\nCall me back.", "txt"],
        ["From here on: nothing.\nSubject: none\n", ""],
        ["Received: 5\nFrom: me\nA line of text\n\nMessage-ID: 7", ""],
        ["From 0123abc Mon Sep 17 00:00:00 2001\nFrom: A <a@example.com>\n\n---\n", "patch"],
        ["From: a\nMIME-Version: 1.0\n\nx", "md"],
        ["What to do\n", "eml"]
      ] as const
      for (const [text, extension] of texts) {
        const read = yield* readHere(text, extension)
        assert.deepStrictEqual([read.text, read.mediaType.startsWith("text/")], [text, true])
      }
    })
  )
})

describe("a mailbox", () => {
  const start = "From juergen@example.com Mon Jun  1 10:00:00 2026\n"
  const simple = (subject: string, body: string) =>
    `${start}From: a@example.com\nSubject: ${subject}\nMessage-ID: <1@example.com>\n\n${body}\n\n`

  it.effect("a mailbox is read as a section for each message", () =>
    Effect.gen(function* () {
      const read = yield* readHere(
        `${simple("One", "First.\n\nFrom here on, it is still the first.")}${simple("Two", "Second.")}`,
        "mbox"
      )
      assert.strictEqual(read.mediaType, "application/mbox")
      assert.strictEqual(
        read.text,
        "# One\n\nFrom: <a@example.com>\n\nFirst.\n\nFrom here on, it is still the first.\n\n# Two\n\nFrom: <a@example.com>\n\nSecond."
      )
    })
  )

  it.effect("a mailbox that exceeds the limits of bytes or messages is marked as truncated", () =>
    Effect.gen(function* () {
      const many = simple("One", "text ".repeat(100)).repeat(100)
      const cut = yield* readHere(many, "mbox", { documentBytesMax: 20_000 })
      assert.isTrue(cut.truncated)
      assert.isTrue((yield* readHere(many, "mbox", { textBytesMax: 1000 })).truncated)
      const odd = yield* readHere(
        `${simple("Odd", "\n--".repeat(20_000))}${simple("Two", "Second.")}`,
        "mbox"
      )
      assert.match(odd.text, /^\(Not read: too large\)\n\n# Two/)
    })
  )
})

describe("a hostile mail", () => {
  const nested = (deep: number): string =>
    deep === 0
      ? "From: a\nSubject: innermost\n\nx"
      : `From: a\nSubject: ${deep}\nMIME-Version: 1.0\nContent-Type: message/rfc822\n\n${nested(deep - 1)}`
  const cases: ReadonlyArray<readonly [name: string, mail: string]> = [
    ["of 100,000 parts", mail("mixed", ...Array.from({ length: 100_000 }, () => plain))],
    ["with a header that doesn't end", `From: ${"a".repeat(5_000_000)}`],
    ["with headers that don't end", `From: a\n${"X-More: b\n".repeat(500_000)}`],
    [
      "of parts within parts",
      Array.from(
        { length: 1000 },
        (_, at) =>
          `${at === 0 ? "From: a\n" : `--b${at - 1}\n`}Content-Type: multipart/mixed; boundary=b${at}\n\n`
      ).join("")
    ]
  ]
  for (const [name, bytes] of cases) {
    it.effect(`${name} is too large`, () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* failureOf(bytes, "eml"), "too_large")
      })
    )
  }

  it.effect("a mail of mails in mails is read to a limited depth", () =>
    Effect.gen(function* () {
      const { text } = yield* readHere(nested(20), "eml")
      assert.include(text, "# 16")
      assert.notInclude(text, "# 15")
      assert.include(text, "(Not read: too large)")
    })
  )

  it.effect("a mail with many attachments is read up to a limit and marked as truncated", () =>
    Effect.gen(function* () {
      const read = yield* readHere(
        mail(
          "mixed",
          ...Array.from({ length: 300 }, (_, at) =>
            attachment("text/plain", `filename=${at}.txt`, Buffer.from(`text ${at}.`))
          )
        ),
        "eml"
      )
      assert.include(read.text, "text 99.")
      assert.notInclude(read.text, "text 100.")
      assert.isTrue(read.truncated)
    })
  )
})
