/** Deterministic noise, so that a sample is the same in every run. */
const noise = (length: number, alphabet: string, seed: number): string => {
  let state = seed
  let text = ""
  while (text.length < length) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    text += alphabet[Math.floor((state / 2 ** 32) * alphabet.length)]
  }
  return text
}

const lines = (count: number, line: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => line(index)).join("\n")

const printable = Array.from({ length: 94 }, (_, index) => String.fromCharCode(33 + index)).join("")
const signs = printable.replaceAll(/[A-Za-z0-9]/g, "")
const hexDigits = "0123456789abcdef"
const base64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
const towns = ["Berlin", "Brno", "Köln", "Kyiv"]

/** Texts of many kinds, by name. */
export const textSamples: Readonly<Record<string, string>> = {
  English:
    "The lighthouse keeper climbed the narrow stairs every evening before sunset, carrying a lamp and a small book. He had done so for thirty years, and he knew the sound of each step. On stormy nights the wind pushed against the windows, and the whole tower seemed to breathe. Ships passed far below, their lights moving slowly across the dark water. He wrote down the name of every one he recognized, because nobody else would remember that they had gone by. In the morning his daughter brought bread and letters from the village, and told him what people said about the price of fish and the new railway.",
  German:
    "Der Leuchtturmwärter stieg jeden Abend vor Sonnenuntergang die enge Treppe hinauf und trug eine Lampe und ein kleines Buch bei sich. Seit dreißig Jahren machte er das so, und er kannte das Geräusch jeder einzelnen Stufe. In stürmischen Nächten drückte der Wind gegen die Fensterscheiben, und der ganze Turm schien zu atmen. Weit unten fuhren Schiffe vorbei, deren Lichter sich langsam über das dunkle Wasser bewegten. Er schrieb die Namen aller Schiffe auf, die er erkannte, weil sich sonst niemand an ihre Vorbeifahrt erinnern würde. Die Verwaltungsvorschriften der Küstenschutzbehörde verlangten das ohnehin.",
  French:
    "Le gardien du phare montait chaque soir l'escalier étroit avant le coucher du soleil, une lampe et un petit livre à la main. Il le faisait depuis trente ans et connaissait le bruit de chaque marche. Les nuits de tempête, le vent poussait contre les vitres et toute la tour semblait respirer. Des navires passaient au loin, leurs lumières glissant lentement sur l'eau noire. Il notait le nom de tous ceux qu'il reconnaissait, parce que personne d'autre ne se souviendrait de leur passage. Au matin, sa fille apportait du pain et des lettres du village, et lui racontait ce que les gens disaient du prix du poisson.",
  Finnish:
    "Majakanvartija kiipesi joka ilta ennen auringonlaskua kapeita portaita ylös lamppu ja pieni kirja kädessään. Hän oli tehnyt niin kolmekymmentä vuotta ja tunsi jokaisen askelman äänen. Myrskyisinä öinä tuuli painoi ikkunoita vasten, ja koko torni tuntui hengittävän. Kaukana alhaalla laivat kulkivat ohi, ja niiden valot liikkuivat hitaasti tumman veden yli. Hän kirjoitti muistiin jokaisen tunnistamansa laivan nimen, koska kukaan muu ei muistaisi niiden kulkeneen siitä.",
  Russian:
    "Смотритель маяка каждый вечер перед закатом поднимался по узкой лестнице с лампой и маленькой книгой в руках. Он делал это тридцать лет и знал звук каждой ступени. В бурные ночи ветер давил на окна, и вся башня, казалось, дышала. Далеко внизу проходили корабли, и их огни медленно двигались по тёмной воде. Он записывал названия всех кораблей, которые узнавал, потому что больше никто не вспомнил бы, что они здесь проплывали. Утром дочь приносила хлеб и письма из деревни и рассказывала, что люди говорят о цене на рыбу и о новой железной дороге.",
  Ukrainian:
    "Доглядач маяка щовечора перед заходом сонця піднімався вузькими сходами з лампою та маленькою книжкою в руках. Він робив це тридцять років і знав звук кожної сходинки. Бурхливими ночами вітер тиснув на вікна, і вся вежа, здавалося, дихала. Далеко внизу пропливали кораблі, і їхні вогні повільно рухалися темною водою. Він записував назви всіх кораблів, які впізнавав, бо більше ніхто не згадав би, що вони тут проходили. Вранці донька приносила хліб і листи із села та розповідала, що люди кажуть про ціну на рибу.",
  Greek:
    "Ο φαροφύλακας ανέβαινε κάθε βράδυ πριν από τη δύση του ηλίου τη στενή σκάλα, κρατώντας μια λάμπα και ένα μικρό βιβλίο. Το έκανε αυτό τριάντα χρόνια και γνώριζε τον ήχο κάθε σκαλοπατιού. Τις νύχτες της καταιγίδας ο άνεμος έσπρωχνε τα παράθυρα και ολόκληρος ο πύργος έμοιαζε να αναπνέει. Πλοία περνούσαν μακριά, και τα φώτα τους κινούνταν αργά πάνω στο σκοτεινό νερό. Έγραφε τα ονόματα όλων όσων αναγνώριζε, γιατί κανείς άλλος δεν θα θυμόταν ότι είχαν περάσει.",
  Arabic:
    "كان حارس المنارة يصعد الدرج الضيق كل مساء قبل غروب الشمس، حاملاً مصباحاً وكتاباً صغيراً. لقد فعل ذلك ثلاثين عاماً، وكان يعرف صوت كل درجة. في الليالي العاصفة كانت الريح تدفع النوافذ، وكان البرج كله يبدو كأنه يتنفس. وكانت السفن تمر بعيداً في الأسفل، وأضواؤها تتحرك ببطء فوق الماء المظلم. كان يكتب اسم كل سفينة يعرفها، لأن أحداً غيره لن يتذكر أنها مرت من هنا. وفي الصباح كانت ابنته تحضر الخبز والرسائل من القرية.",
  Hebrew:
    "שומר המגדלור עלה בכל ערב לפני השקיעה במדרגות הצרות, ובידיו מנורה וספר קטן. הוא עשה זאת במשך שלושים שנה והכיר את קולה של כל מדרגה. בלילות סוערים דחפה הרוח את החלונות, והמגדל כולו נראה כאילו הוא נושם. אוניות חלפו הרחק למטה, ואורותיהן נעו לאט על פני המים האפלים. הוא רשם את שמה של כל אונייה שזיהה, משום שאיש מלבדו לא יזכור שהיא עברה כאן. בבוקר הביאה בתו לחם ומכתבים מן הכפר.",
  Hindi:
    "प्रकाशस्तंभ का रखवाला हर शाम सूर्यास्त से पहले एक दीपक और एक छोटी किताब लेकर संकरी सीढ़ियाँ चढ़ता था। वह तीस साल से ऐसा कर रहा था और हर सीढ़ी की आवाज़ पहचानता था। तूफ़ानी रातों में हवा खिड़कियों को धकेलती थी और पूरी मीनार साँस लेती हुई लगती थी। दूर नीचे जहाज़ गुज़रते थे और उनकी रोशनी धीरे-धीरे काले पानी पर चलती थी। वह हर पहचाने हुए जहाज़ का नाम लिख लेता था, क्योंकि किसी और को याद नहीं रहता कि वे यहाँ से गुज़रे थे।",
  Chinese:
    "灯塔看守人每天傍晚日落之前都会提着一盏灯，带着一本小书，爬上那道狭窄的楼梯。他这样做已经三十年了，熟悉每一级台阶的声音。暴风雨的夜里，风推着窗户，整座塔仿佛在呼吸。远处的船只在下面经过，灯光缓缓地在黑暗的水面上移动。他把认得的每一艘船的名字都记下来，因为不会有别人记得它们曾经从这里驶过。早晨，女儿从村里送来面包和信件，告诉他人们怎样谈论鱼的价格和新修的铁路。",
  Japanese:
    "灯台守は毎晩、日が沈む前にランプと小さな本を手にして狭い階段を上った。三十年もそうしてきたので、一段一段の音まで知っていた。嵐の夜には風が窓を押し、塔全体が息をしているように思われた。はるか下を船が通り過ぎ、その明かりが暗い水の上をゆっくりと動いていった。彼は見分けのつく船の名前をすべて書き留めた。ほかの誰も、それらがここを通ったことを覚えていないだろうからだ。朝になると、娘が村からパンと手紙を持ってきた。",
  Korean:
    "등대지기는 매일 저녁 해가 지기 전에 등불과 작은 책 한 권을 들고 좁은 계단을 올라갔다. 그는 삼십 년 동안 그렇게 해 왔고, 계단 하나하나의 소리를 알고 있었다. 폭풍이 치는 밤이면 바람이 창문을 밀었고, 탑 전체가 숨을 쉬는 것 같았다. 저 아래로 배들이 지나갔고, 그 불빛이 어두운 물 위를 천천히 움직였다. 그는 알아볼 수 있는 모든 배의 이름을 적어 두었다. 다른 누구도 그 배들이 이곳을 지나갔다는 것을 기억하지 못할 것이기 때문이었다.",
  Thai: "ผู้ดูแลประภาคารปีนบันไดแคบทุกเย็นก่อนพระอาทิตย์ตก โดยถือตะเกียงและหนังสือเล่มเล็กไว้ในมือ เขาทำเช่นนี้มาสามสิบปีแล้ว และรู้จักเสียงของบันไดทุกขั้น ในคืนที่มีพายุ ลมพัดดันหน้าต่าง และหอคอยทั้งหลังดูเหมือนกำลังหายใจ เรือแล่นผ่านไปไกลด้านล่าง แสงไฟเคลื่อนช้าๆ ไปบนน้ำที่มืดมิด เขาจดชื่อเรือทุกลำที่เขาจำได้ เพราะไม่มีใครอื่นจะจำได้ว่าเรือเหล่านั้นเคยผ่านมาที่นี่",
  Vietnamese:
    "Người gác hải đăng mỗi buổi chiều trước khi mặt trời lặn đều leo lên chiếc cầu thang hẹp, tay cầm một ngọn đèn và một cuốn sách nhỏ. Ông đã làm như vậy suốt ba mươi năm và biết rõ tiếng của từng bậc thang. Những đêm giông bão, gió đẩy vào cửa sổ, và cả ngọn tháp dường như đang thở. Những con tàu đi qua ở xa bên dưới, ánh đèn của chúng chậm rãi trôi trên mặt nước tối. Ông ghi lại tên của từng con tàu mà ông nhận ra, vì sẽ không có ai khác nhớ rằng chúng đã đi qua đây.",
  Amharic:
    "የመብራት ቤቱ ጠባቂ በየምሽቱ ፀሐይ ከመጥለቋ በፊት ፋኖስና ትንሽ መጽሐፍ ይዞ ጠባቡን ደረጃ ይወጣ ነበር። ይህንን ለሠላሳ ዓመታት ሲያደርግ ቆይቷል፤ የእያንዳንዱን ደረጃ ድምፅም ያውቅ ነበር። በማዕበል ሌሊቶች ነፋሱ መስኮቶቹን ይገፋ ነበር፣ ሕንፃውም በሙሉ የሚተነፍስ ይመስል ነበር። መርከቦች ከሩቅ ያልፉ ነበር፣ መብራቶቻቸውም በጨለማው ውኃ ላይ በዝግታ ይንቀሳቀሱ ነበር።",
  Georgian:
    "შუქურის მცველი ყოველ საღამოს მზის ჩასვლამდე ვიწრო კიბეზე ადიოდა ლამპითა და პატარა წიგნით ხელში. ამას ოცდაათი წელი აკეთებდა და ყოველი საფეხურის ხმას ცნობდა. ქარიშხლიან ღამეებში ქარი ფანჯრებს აწვებოდა და მთელი კოშკი თითქოს სუნთქავდა. შორს ქვემოთ გემები ჩაივლიდნენ და მათი შუქი ნელა მოძრაობდა ბნელ წყალზე. იგი იწერდა ყველა ნაცნობი გემის სახელს.",
  Tamil:
    "கலங்கரை விளக்கத்தின் காவலர் ஒவ்வொரு மாலையும் சூரியன் மறைவதற்கு முன் ஒரு விளக்கையும் ஒரு சிறிய புத்தகத்தையும் எடுத்துக்கொண்டு குறுகிய படிக்கட்டில் ஏறுவார். முப்பது ஆண்டுகளாக அவர் அப்படிச் செய்துவந்தார், ஒவ்வொரு படியின் ஒலியையும் அறிந்திருந்தார். புயல் வீசும் இரவுகளில் காற்று சன்னல்களைத் தள்ளியது, முழு கோபுரமும் மூச்சு விடுவதுபோல் தோன்றியது.",
  Tibetan:
    "མི་ཐམས་ཅད་ལ་རང་དབང་དང་ཐོབ་ཐང་འདྲ་མཉམ་ཡོད། མི་རྣམས་ལ་བློ་གྲོས་དང་ཤེས་རབ་ཡོད་པས་ཕན་ཚུན་སྤུན་ཟླའི་འདུ་ཤེས་ཀྱིས་འབྲེལ་བ་བྱེད་དགོས། བོད་ཀྱི་སྐད་ཡིག་ནི་རི་མཐོན་པོའི་ཡུལ་དུ་དར་བའི་སྐད་ཡིག་ཅིག་ཡིན། དེ་ལ་ཡི་གེ་སུམ་ཅུ་ཡོད།",
  TypeScript: lines(
    6,
    (index) => `export const shareOf${index} = (needs: ReadonlyArray<number>, room: number): number => {
  let left = Math.max(0, Math.floor(room))
  for (const [done, need] of needs.entries()) {
    const share = Math.min(need, Math.floor(left / (needs.length - done)))
    if (share === 0) return left // nothing more fits
    left -= share
  }
  return left
}`
  ),
  JSON: JSON.stringify(
    Array.from({ length: 12 }, (_, index) => ({
      id: `article-${index * 7919}`,
      name: "Controller K9",
      price: 190.5 + index,
      stock: { town: towns[index % towns.length], count: index * 3, reserved: false },
      tags: ["pump", "cooling"],
      replacedBy: null
    }))
  ),
  "indented JSON": JSON.stringify(
    Array.from({ length: 5 }, (_, index) => ({ id: index * 7919, name: "Controller", inUse: index % 2 > 0 })),
    null,
    2
  ),
  CSV: lines(
    30,
    (index) =>
      `${index + 1},NW-${10_000 + ((index * 7919) % 90_000)},${towns[index % towns.length]},${((index * 7919) % 1000) / 10},2026-0${(index % 9) + 1}-1${index % 10},${index * 31}.25`
  ),
  base64: noise(800, base64Digits, 7),
  hex: noise(800, hexDigits, 11),
  "hex dump": lines(12, (index) =>
    Array.from({ length: 16 }, (_, at) => noise(2, hexDigits, index * 16 + at)).join(" ")
  ),
  UUIDs: lines(16, (index) =>
    [8, 4, 4, 4, 12].map((length, at) => noise(length, hexDigits, index * 5 + at)).join("-")
  ),
  digits: noise(800, "0123456789", 13),
  punctuation: noise(800, signs, 17),
  "random ASCII": noise(800, printable, 19),
  "a Markdown table": `| id | article   | price | note |\n|---:|-----------|:-----:|------|\n${lines(14, (index) => `| ${index} | NW-${11_414 + index} | ${index * 3}.5 | ${index % 3 > 0 ? "—" : "in stock"} |`)}`,
  "a dotted list": lines(
    40,
    (index) => `${(index % 9) + 1}.${(index % 7) + 1}.${(index % 5) + 1}.${index % 3}`
  ),
  "a table of contents": lines(
    14,
    (index) =>
      `${(index % 9) + 1}.${(index % 4) + 1} Chapter ${".".repeat(20 + ((index * 7) % 30))} ${index * 9 + 3}`
  ),
  emoji: "😀😂🥲😍🤖🚀🎉🔥💡✅❌👍🏽👩‍👩‍👧🇩🇪🇯🇵🧪🦀🐍📦📈🫠🪿🧑‍💻".repeat(5),
  "box drawing": lines(8, (index) => `│ ${index} ├──┤ ${"─".repeat(index + 4)} └┬┘ → done │`),
  HTML: lines(
    12,
    (index) =>
      `<tr class="row"><td id="c${index}">Article ${index}</td><td>&nbsp;<a href="/articles/${index * 37}">details</a></td></tr>`
  ),
  "a log": lines(
    10,
    (index) =>
      `2026-11-22T04:${10 + index}:26.${100 + index * 7}Z INFO [${noise(16, hexDigits, index + 1)}] GET /v1/files/${noise(12, hexDigits, index + 40)} 200 ${index * 3}.4ms`
  )
}
