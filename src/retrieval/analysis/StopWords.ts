/** Small words of languages for which PostgreSQL has no list, in lower case. */
const lists: Readonly<Record<string, string>> = {
  arabic:
    "في من على إلى عن أن إن كان كانت هذا هذه ذلك تلك التي الذي الذين ما لا لم لن هو هي هم كما أو ثم قد كل بعد قبل بين مع عند حتى إذا لكن و يا أي هل كيف متى أين لماذا ماذا",
  catalan:
    "de la que i a el en un una els les del al amb per no es és ha han hi o com més però si també ja són seva seu aquest aquesta quan qui què on cada sense sobre entre fins des ser està tots totes pot cal",
  czech:
    "a je se na v ve že s z ze do to i o k ke pro jsou jako za by od po který která které při nebo ale jen jak tak už jeho její než bude byl byla bylo být jsem není také může mohou kdy kde kdo co proč až před mezi bez",
  greek:
    "και το τα του της την των τον στο στη στην στα στις με για από είναι που να θα σε ο η οι δεν ένα μια ως κατά μετά πριν αν ή όταν πώς ποιος ποια ποιο τι πού αυτό αυτή έχει έχουν μπορεί",
  hindi:
    "के का की में है और से को पर यह कि हैं ने एक नहीं तो भी कर था थे थी इस वह हो जो या अपने लिए गया किया रहा क्या कैसे कब कहाँ कौन क्यों",
  indonesian:
    "yang dan di dari untuk dengan pada ini itu dalam adalah tidak akan oleh ke atau sebagai juga dapat ada bisa harus sudah telah lebih karena jika saat setiap para kami kita anda bagaimana kapan apa siapa mana mengapa",
  lithuanian:
    "ir yra kad su iš į ar bet už kaip jo jos jie buvo nuo apie per tai tik pat šis ši kuris kuri kurie taip dar po prie kai bus būti gali turi kada kas kur kodėl",
  polish:
    "w i na z do się nie to że jest o jak po co od za dla przez są ale czy przy oraz lub tylko może które który która ich jego jej być był była było będzie ze we tym tego także już kiedy gdzie kto dlaczego ile należy bez między",
  romanian:
    "de și şi în la cu pe din că pentru care este sunt un o nu mai se a al ale ai fi sau dar prin după fără între până când cum ce cine unde cât câte câți a fost au are ar poate trebuie acest această aceste lui ei lor le îi îl ca să o sa pot dacă deja foarte toate tot toți unei unui",
  vietnamese:
    "và của là có được cho không các những một trong với khi này đó để từ đã sẽ phải người như thì mà ở ra vào về theo tại trên bao nhiêu nào gì ai đâu thế vì do nếu hoặc hay cũng còn bị bởi đến mỗi"
}

const stopWords: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries(lists).map(([language, words]) => [language, new Set(words.split(" "))])
)

/** Languages with a list of stop words. */
export const listedLanguages: ReadonlyArray<string> = [...stopWords.keys()]

export const isListed = (language: string, word: string): boolean =>
  stopWords.get(language)?.has(word) === true

/** Languages that PostgreSQL has no dictionary of: their words are looked for as they are. */
const unstemmed: ReadonlySet<string> = new Set(["simple", "czech", "polish", "vietnamese"])

export const isStemmed = (language: string): boolean => !unstemmed.has(language)
