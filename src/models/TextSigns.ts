/** Characters of a text that are looked at: what comes later tells little more, and a look must stay cheap. */
export const charactersMax = 20_000

/** Shorter and longer words than these are no words that tell something. */
const tellingLettersMin = 3
const tellingLettersMax = 16

/** A line is code where one character in so many, or more, is a sign that prose seldom has, and there are so many. */
const charactersPerCodeSign = 6
const codeSignsMin = 3

/** A name such as `isOpen` or `is_open` counts for so many signs. */
const nameSigns = 2

/** A line of a stack trace says more than a line of code. */
const stackFrameLines = 3

/** A word that tells the subject counts for so much of it. */
const codeWordLines = 2
const mathematicsWordSigns = 2
const thoughtWordDemands = 2
const latexSigns = 2

/** What can be seen of a text at a glance. Each only grows when lines are added. */
export interface TextSigns {
  /** Lines of code, and what counts as such. */
  readonly codeLines: number
  /** Operators between numbers, signs of mathematics, commands of LaTeX, and words. */
  readonly mathematics: number
  /** Questions, points of a list, and words that ask for thought. */
  readonly demands: number
  /** Different words that ask for something that tools do, such as a look at the web. */
  readonly errands: number
}

type Subject = "code" | "mathematics" | "thought" | "errand"

const wordsOf: Readonly<Record<Subject, string>> = {
  code:
    "code function method class compile compiler bug debug refactor implement algorithm regex sql query script api " +
    "python javascript typescript java rust golang kotlin swift haskell bash exception stacktrace async recursion " +
    "funktion programmiere programm skript algorithmus fonction programme algorithme función programa algoritmo",
  mathematics:
    "prove proof theorem lemma integral integrate derivative differentiate equation matrix probability polynomial " +
    "eigenvalue converge irrational sqrt logarithm beweise beweis ableitung gleichung wahrscheinlichkeit prouver " +
    "démontrer démontre intégrale dérivée équation matrice probabilité demuestra demostrar derivada ecuación matriz " +
    "probabilidad докажи интеграл уравнение",
  thought:
    "why compare explain analyse analyze design evaluate derive argue plan optimise optimize critique reason " +
    "warum vergleiche erkläre analysiere entwirf bewerte begründe pourquoi comparer explique analysez évalue " +
    "compara explica analiza diseña evalúa почему сравни объясни",
  errand:
    "http https www search google latest news weather suche recherche cherche busca wetter météo новости"
}

/** Scripts without blanks have words of two characters. */
const pairsOf: Readonly<Record<Subject, string>> = {
  code: "代码 函数 编程 算法 関数",
  mathematics: "证明 積分 积分 方程 概率 確率 証明 微分 矩阵 行列",
  thought: "比较 比較 分析 解释 説明 设计 設計 评价 評価",
  errand: "搜索 検索 新闻 天气 天気"
}

const subjects: ReadonlyMap<string, Subject> = new Map(
  (["code", "mathematics", "thought", "errand"] as const).flatMap((subject) =>
    `${wordsOf[subject]} ${pairsOf[subject]}`.split(" ").map((word) => [word, subject] as const)
  )
)

/** What a character is, by its code. */
const kinds = { other: 0, word: 1, blank: 2, code: 4, operator: 8, mathematics: 16, question: 32 } as const

const asciiKinds = (() => {
  const table = new Uint8Array(128)
  const mark = (characters: string, kind: number) => {
    for (const character of characters) {
      const code = character.charCodeAt(0)
      table[code] = (table[code] ?? 0) | kind
    }
  }
  mark("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", kinds.word)
  mark(" \t\r\f\v", kinds.blank)
  mark("{}()[];=<>&$@\\`", kinds.code)
  mark("+-*/^=<>", kinds.operator)
  mark("?", kinds.question)
  return table
})()

const mathematicalSigns = new Set(Array.from("∫∑∏√∂∞≤≥≠≈∈∉∀∃∇⊂⊆∪∩⇒⇔±×÷", (sign) => sign.charCodeAt(0)))
const foreignQuestions = new Set([0xff1f, 0x061f, 0x037e])

const isIdeograph = (code: number): boolean => code >= 0x3040 && code <= 0x9fff

/** Latin with accents, Greek and Cyrillic. */
const isForeignLetter = (code: number): boolean =>
  (code >= 0xc0 && code <= 0x24f) || (code >= 0x370 && code <= 0x52f)

const kindOf = (code: number): number => {
  if (code < 128) return asciiKinds[code] ?? kinds.other
  if (mathematicalSigns.has(code)) return kinds.mathematics
  if (foreignQuestions.has(code)) return kinds.question
  return isForeignLetter(code) ? kinds.word : kinds.other
}

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39
const isLower = (code: number): boolean => code >= 0x61 && code <= 0x7a
const isUpper = (code: number): boolean => code >= 0x41 && code <= 0x5a
const underscore = 0x5f
const backslash = 0x5c
const openParenthesis = 0x28
const closeParenthesis = 0x29
const operatorsNeedingBlank = new Set([0x2d, 0x2f])
const power = 0x5e

/** `1.`, `2)`, `-`, `*` or `•` in front of something, at the beginning of a line. */
const listPoint = /^(?:\d{1,3}[.)]|[-*•])[ \t]+\S/

const stackFrame =
  /^(?:at .{1,200}:\d|File ".{1,200}", line \d|Traceback \(most|Caused by: |Exception in thread)/

/** A line that is looked at no further than this tells a list point and a stack frame. */
const lineHeadCharacters = 256

/** Looks at a text once, from its beginning on, and says what it saw. */
class Glance {
  codeLines = 0
  mathematics = 0
  demands = 0
  private fence = ""
  private readonly found = new Map<string, Subject>()
  private readonly text: string

  constructor(text: string) {
    this.text = text
  }

  /** Different words that were seen of a subject. */
  words(subject: Subject): number {
    let count = 0
    for (const one of this.found.values()) if (one === subject) count++
    return count
  }

  /** Looks at one line, which ends before `end`. */
  line(from: number, end: number): void {
    let start = from
    while (start < end && kindOf(this.text.charCodeAt(start)) === kinds.blank) start++
    if (start === end) return
    const head = this.text.slice(start, Math.min(end, start + lineHeadCharacters))
    const fence = head.startsWith("```") ? "```" : head.startsWith("~~~") ? "~~~" : ""
    if (fence !== "" && (this.fence === "" || this.fence === fence)) {
      this.fence = this.fence === "" ? fence : ""
      return
    }
    const signs = this.characters(start, end)
    if (stackFrame.test(head)) this.codeLines += stackFrameLines
    else if (this.fence !== "") this.codeLines++
    else if (signs >= codeSignsMin && signs * charactersPerCodeSign >= end - start) this.codeLines++
    else if (listPoint.test(head)) this.demands++
  }

  /** Looks at the characters of a line; how many signs of code it has. */
  private characters(start: number, end: number): number {
    const { text } = this
    let codeSigns = 0
    let wordStart = -1
    let isName = false
    let last = 0
    /** The last character that is no blank, and the one before an operator that waits for its right side. */
    let solid = 0
    let isWaiting = false
    for (let at = start; at < end; at++) {
      const code = text.charCodeAt(at)
      const kind = kindOf(code)
      if (kind === kinds.word) {
        if (wordStart < 0) wordStart = at
        else if ((code === underscore && at + 1 < end) || (isUpper(code) && isLower(last))) isName = true
      } else if (wordStart >= 0) {
        if (isName) codeSigns += nameSigns
        this.word(wordStart, at)
        wordStart = -1
        isName = false
      }
      if (kind !== kinds.blank) {
        if (isWaiting && (isDigit(code) || code === openParenthesis || code === backslash)) this.operation()
        isWaiting = false
        if ((kind & kinds.operator) !== 0) isWaiting = isBetweenNumbers(code, solid, last)
        if ((kind & kinds.code) !== 0) codeSigns++
        if (last === backslash && (isLower(code) || isUpper(code)))
          this.mathematics += this.fence === "" ? latexSigns : 0
        if (kind === kinds.mathematics) this.mathematics++
        if (kind === kinds.question && this.fence === "") this.demands++
        solid = code
      }
      if (isIdeograph(code)) this.find(text.slice(at, Math.min(end, at + 2)))
      last = code
    }
    if (wordStart >= 0) {
      if (isName) codeSigns += nameSigns
      this.word(wordStart, end)
    }
    // Statements end with these, and headings of blocks with a colon.
    return codeSigns + (solid === 0x3b || solid === 0x7b || solid === 0x7d || solid === 0x3a ? 1 : 0)
  }

  private operation(): void {
    if (this.fence === "") this.mathematics++
  }

  private word(start: number, end: number): void {
    const letters = end - start
    if (letters < tellingLettersMin || letters > tellingLettersMax) return
    this.find(this.text.slice(start, end).toLowerCase())
  }

  private find(word: string): void {
    const subject = subjects.get(word)
    if (subject !== undefined) this.found.set(word, subject)
  }
}

/** Whether what stands before an operator can be the left side of a formula; dates and ranges have no blank before theirs. */
const isBetweenNumbers = (operator: number, solid: number, last: number): boolean => {
  if (operatorsNeedingBlank.has(operator) && last === solid) return false
  if (isDigit(solid) || solid === closeParenthesis) return true
  return operator === power && kindOf(solid) === kinds.word
}

/**
 * What can be seen of the beginning of a text. The work is linear in its length and bounded, whatever it holds; every line
 * that is added leaves what was seen of those before it.
 */
export const signsOf = (whole: string): TextSigns => {
  const text = whole.length > charactersMax ? whole.slice(0, charactersMax) : whole
  const glance = new Glance(text)
  for (let start = 0; start < text.length;) {
    const newline = text.indexOf("\n", start)
    const end = newline < 0 ? text.length : newline
    glance.line(start, end)
    start = end + 1
  }
  return {
    codeLines: glance.codeLines + codeWordLines * glance.words("code"),
    mathematics: glance.mathematics + mathematicsWordSigns * glance.words("mathematics"),
    demands: glance.demands + thoughtWordDemands * glance.words("thought"),
    errands: glance.words("errand")
  }
}
