import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { decodeText, isBinary } from "../../src/documents/Charset.ts"

const bytes = (hex: string) => Buffer.from(hex.replaceAll(" ", ""), "hex")
const utf16be = (text: string) => Buffer.from(text, "utf16le").swap16()
const utf32le = (text: string) =>
  Buffer.from(new Uint32Array(Array.from(text, (one) => one.codePointAt(0)!)).buffer)

const trailing = Array.from({ length: 0xc0 }, (_, at) => 0x40 + at)

/**
 * Bytes of a text in a charset that Node can't write, found by asking what each byte or pair of bytes means.
 */
const encode = (text: string, charset: string): Buffer => {
  const table = new Map<string, ReadonlyArray<number>>()
  const decoder = new TextDecoder(charset)
  for (let first = 0; first < 256; first++) {
    const one = decoder.decode(Uint8Array.of(first))
    if (one.length === 1 && one !== "\uFFFD") table.set(one, [first])
    for (const second of first < 0x80 ? [] : trailing) {
      const two = decoder.decode(Uint8Array.of(first, second))
      if (two.length === 1 && two !== "\uFFFD" && !table.has(two)) table.set(two, [first, second])
    }
  }
  return Buffer.from(
    Array.from(text).flatMap((one) => table.get(one) ?? assert.fail(`${charset} has no ${one}`))
  )
}

const german =
  "Größe und Länge überprüfen: schöne Grüße aus München. Was kostet das? Für zwölf Bücher fünf Euro."
const french = "Élève à l’école où l’été était déjà très avancé, le garçon naïf reçut “une” lettre – hélas."
const russian = "Съешь ещё этих мягких французских булок, да выпей же чаю. Это обычный русский текст."
const japanese = "これは日本語の文章です。ひらがなとカタカナと漢字が混ざっています。今日は天気がいいですね。"
const chinese = "这是一个用简体中文写成的句子，我们用它来测试字符编码的识别。今天的天气很好，大家都很高兴。"
const traditional =
  "這是一個用繁體中文寫成的句子，我們用它來測試字元編碼的識別。今天的天氣很好，大家都很高興。"
const korean =
  "이것은 한국어로 쓴 문장입니다. 문자 인코딩을 시험하기 위해서 사용합니다. 오늘은 날씨가 좋습니다."
const greek = "Αυτό είναι ένα κείμενο στα ελληνικά για να δοκιμάσουμε την κωδικοποίηση των χαρακτήρων."

describe("decodeText", () => {
  const texts = [
    german,
    french,
    russian,
    japanese,
    chinese,
    korean,
    "plain ASCII\nsecond line",
    "\u{1f600} emoji\n"
  ]

  it("decodeText reads UTF-8, UTF-16 and UTF-32 by their byte-order marks", () => {
    for (const text of texts) {
      const marked = `\uFEFF${text}`
      assert.deepStrictEqual(decodeText(Buffer.from(marked)), { text, charset: "utf-8" })
      assert.deepStrictEqual(decodeText(Buffer.from(marked, "utf16le")), { text, charset: "utf-16le" })
      assert.deepStrictEqual(decodeText(utf16be(marked)), { text, charset: "utf-16be" })
      assert.deepStrictEqual(decodeText(utf32le(marked)), { text, charset: "utf-32le" })
      assert.deepStrictEqual(decodeText(utf32le(marked).swap32()), { text, charset: "utf-32be" })
    }
  })

  it("decodeText reads UTF-8 and UTF-16 without byte-order marks", () => {
    for (const text of texts) {
      assert.deepStrictEqual(decodeText(Buffer.from(text)), { text, charset: "utf-8" })
      const lines = `${text}\n${text}\n`
      assert.deepStrictEqual(
        decodeText(Buffer.from(lines, "utf16le")),
        { text: lines, charset: "utf-16le" },
        text
      )
      assert.deepStrictEqual(decodeText(utf16be(lines)), { text: lines, charset: "utf-16be" }, text)
    }
  })

  const legacy: ReadonlyArray<readonly [charset: string, text: string]> = [
    ["windows-1252", german],
    ["windows-1252", french],
    ["windows-1251", russian],
    ["koi8-r", russian],
    ["iso-8859-5", russian],
    ["iso-8859-7", greek],
    ["shift_jis", japanese],
    ["euc-jp", japanese],
    ["gb18030", chinese],
    ["big5", traditional],
    ["euc-kr", korean]
  ]
  for (const [charset, text] of legacy) {
    it(`decodeText guesses ${charset}`, () => {
      assert.strictEqual(decodeText(encode(text, charset))?.text, text)
    })
    it(`decodeText reads ${charset} where that is declared`, () => {
      assert.strictEqual(decodeText(encode(text, charset), charset)?.text, text)
    })
  }

  it("decodeText guesses the charset of short texts", () => {
    for (const text of [
      "café",
      "Müller",
      "£100 © 2020",
      "naïve",
      "Price: 5€ “quoted”",
      "5 µm ± 0,1 °C",
      "25 m² à 10 €",
      "Name;Ort\nJosé;Málaga\n"
    ]) {
      assert.strictEqual(decodeText(encode(text, "windows-1252"))?.text, text)
    }
    assert.strictEqual(decodeText(encode("日本語の文章", "shift_jis"))?.text, "日本語の文章")
  })

  it("decodeText guesses the charset of Cyrillic texts, also of unusual ones and of DOS", () => {
    const letter =
      "Вчера мы получили письмо от партнёров: поставка оборудования задерживается на две недели. Please confirm."
    const pangram = "Съешь же ещё этих мягких французских булок, да выпей чаю. "
    for (const charset of ["windows-1251", "koi8-r", "ibm866", "iso-8859-5"]) {
      for (const text of [letter, pangram, pangram.repeat(5)]) {
        assert.strictEqual(decodeText(encode(text, charset))?.text, text, charset)
      }
    }
  })

  const places: Readonly<Record<string, ReadonlyArray<string>>> = {
    "windows-1251": ["Москва", "Воронеж", "склад", "договор", "оплата", "счёт"],
    ibm866: ["Москва", "Воронеж", "склад", "договор", "оплата", "счёт"],
    "koi8-u": ["Київ", "Львів", "договір", "рахунок", "знижка", "склад"],
    "windows-1255": ["ירושלים", "חיפה", "חוזה", "מחסן", "הנחה", "לקוח"],
    "windows-1254": ["İstanbul", "Eskişehir", "sözleşme", "sipariş", "müşteri", "değişim"],
    "windows-1256": ["القاهرة", "بغداد", "عقد", "فاتورة", "مخزن", "خصم"],
    "windows-1253": ["Αθήνα", "Θεσσαλονίκη", "σύμβαση", "τιμολόγιο", "έκπτωση", "πελάτης"],
    "windows-1250": ["Łódź", "Kraków", "dostawa", "zniżka", "żółć", "księgowy"],
    "windows-1252": ["Málaga", "Coruña", "envío", "almacén", "devolución", "compañía"],
    "windows-874": ["กรุงเทพ", "เชียงใหม่", "สัญญา", "ส่วนลด", "ลูกค้า", "บัญชี"],
    shift_jis: ["東京", "大阪", "契約", "倉庫", "割引", "カタログ"],
    "euc-jp": ["東京", "大阪", "契約", "倉庫", "割引", "カタログ"],
    gb18030: ["北京", "上海", "合同", "发票", "仓库", "折扣"],
    big5: ["台北", "高雄", "合約", "發票", "倉庫", "折扣"],
    "euc-kr": ["서울", "부산", "계약", "송장", "창고", "할인"]
  }
  for (const [charset, words] of Object.entries(places)) {
    it(`decodeText guesses ${charset} of a table of numbers and of a list of words`, () => {
      const rows = Array.from(
        { length: 60 },
        (_, at) => `${at};${words[at % words.length]};Koln;${at * 37},${at % 10}0`
      )
      for (const text of [`${words.join("\n")}\n`, rows.join("\n")]) {
        assert.strictEqual(decodeText(encode(text, charset))?.text, text)
      }
    })
  }

  it("decodeText reads ISO-2022-JP by its escapes", () => {
    assert.strictEqual(decodeText(bytes("61 1b2442 467c 4b5c 1b2842 62"))?.text, "a日本b")
  })

  it("decodeText reads UTF-8 with some invalid bytes or a cut end as UTF-8", () => {
    const damaged = Buffer.concat([Buffer.from(german.repeat(3)), bytes("ff"), Buffer.from(german)])
    assert.strictEqual(decodeText(damaged)?.text, `${german.repeat(3)}\uFFFD${german}`)
    assert.strictEqual(decodeText(Buffer.from(japanese).subarray(0, -1))?.charset, "utf-8")
  })

  it("decodeText ignores a declared charset that doesn't exist", () => {
    const text = encode(german, "windows-1252")
    for (const declared of ["nonsense", "iso-2022-cn", ""])
      assert.strictEqual(decodeText(text, declared)?.text, german)
  })

  it("decodeText returns null for binary data", () => {
    assert.isNull(decodeText(bytes("00 01 02 03 ff fe fd")))
    assert.isNull(decodeText(bytes("89504e47 0d0a1a0a 0000000d 49484452 00000001 00000001 08060000")))
    assert.isNull(decodeText(Buffer.alloc(1000)))
  })

  it.prop("decodeText reads any text in UTF-8 unchanged", [Schema.String], ([text]) => {
    // A mark at the beginning isn't part of the text, and an escape may be one of ISO-2022-JP.
    const wanted = Array.from(text.toWellFormed())
      .filter((one) => one >= " " || one === "\n")
      .join("")
      .replace(/^\uFEFF+/, "")
    assert.strictEqual(decodeText(Buffer.from(wanted))?.text, wanted)
  })
})

describe("isBinary", () => {
  it.prop(
    "isBinary is false for all bytes that are read as text",
    [Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 })))],
    ([codes]) => {
      const found = Buffer.from(codes)
      if (isBinary(found)) assert.isNull(decodeText(found))
    }
  )

  it("isBinary is true for what is no text, and false for texts in any charset", () => {
    const noText = Buffer.from(Array.from({ length: 1_000 }, (_, at) => (at * 7) % 256))
    assert.isTrue(isBinary(noText))
    for (const text of [german, russian, japanese, "plain ASCII\nsecond line"]) {
      const encodings = [Buffer.from(text), Buffer.from(text, "utf16le"), utf16be(text)]
      for (const encoded of [
        ...encodings,
        Buffer.from(`\uFEFF${text}`, "utf16le"),
        utf32le(`\uFEFF${text}`)
      ]) {
        assert.isFalse(isBinary(encoded), text)
      }
    }
    assert.isFalse(isBinary(encode(russian, "windows-1251")))
  })
})
