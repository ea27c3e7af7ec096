/** The forms that a letter takes beside others: fonts name their glyphs by them. */
const forms = /[\ufb1d-\ufdff\ufe70-\ufefc\u2f00-\u2fd5]+/g

/** The ideographs of the CJK Radicals Supplement from U+2E80 on (EquivalentUnifiedIdeograph.txt of Unicode 15); a blank is none. */
const radicals = Array.from(
  "　厂乛乚乙亻冂𠘨刀刂卜㔾小小兀尣尢𡯂巳幺彑𫜹忄心扌攵　旡日月歺母民氵氺灬爫爫丬牛犭王𤴔目示礻𥫗糹纟罓罒㓁冗𦉫羊𦍌𦍋耂肀聿肉𦥑艹艹艹虎衤覀西见角𧢲讠贝𧾷车辶辶辶邑钅長镸长门𨸏阝雨青韦页风飞食𩙿飠饣𩠐马骨鬼鱼鸟卤麦黄黾斉齐歯齿竜龙龜亀龟"
)
const radicalsStart = 0x2e80
const noRadical = "\u3000"

/** A word in Arabic never has alef twice: what was a glyph of lam and alef has its letters the wrong way round. */
const turnedLamAlef = /\u0627([\u0622\u0623\u0625\u0627])\u0644/g

/** The letters that are meant where a PDF names the glyphs that are seen. The text is a piece of a line, in reading order. */
export const plainLetters = (text: string): string =>
  text
    // A lone vowel sign's form is compatible with a space and the sign.
    .replace(forms, (found) => found.normalize("NFKC").replace(/ (?=\p{M})/gu, ""))
    .replace(/[\u2e80-\u2ef3]/g, (radical) => {
      const ideograph = radicals[radical.charCodeAt(0) - radicalsStart]
      return ideograph === undefined || ideograph === noRadical ? radical : ideograph
    })
    .replace(turnedLamAlef, "\u0627\u0644$1")
