// The token estimate compared with OpenAI's o200k_base: close for texts in any language, and fast for any
// text.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { countTokens as exactCount } from 'gpt-tokenizer/encoding/o200k_base'
import t from 'tap'
import { countTokens } from '../../services/ai/chat/token-estimate.ts'

/** Mostly article 1 of the Universal Declaration of Human Rights. */
const languages: Record<string, string> = {
  English:
    'The platform keeps every event for thirty days, after which a job removes it together with its ' +
    'deliveries. No action is needed for that.',
  German:
    'Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft und Gewissen ' +
    'begabt und sollen einander im Geist der Brüderlichkeit begegnen.',
  French:
    'Tous les êtres humains naissent libres et égaux en dignité et en droits. Ils sont doués de raison et' +
    ' de conscience et doivent agir les uns envers les autres dans un esprit de fraternité.',
  Spanish:
    'Todos los seres humanos nacen libres e iguales en dignidad y derechos y, dotados como están de razón' +
    ' y conciencia, deben comportarse fraternalmente los unos con los otros.',
  Finnish:
    'Kaikki ihmiset syntyvät vapaina ja tasavertaisina arvoltaan ja oikeuksiltaan. Heille on annettu ' +
    'järki ja omatunto, ja heidän on toimittava toisiaan kohtaan veljeyden hengessä.',
  Hungarian:
    'Minden emberi lény szabadon születik és egyenlő méltósága és joga van. Az emberek, ésszel és ' +
    'lelkiismerettel bírván, egymással szemben testvéri szellemben kell hogy viseltessenek.',
  Polish:
    'Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw. Są oni obdarzeni ' +
    'rozumem i sumieniem i powinni postępować wobec innych w duchu braterstwa.',
  Czech:
    'Všichni lidé rodí se svobodní a sobě rovní co do důstojnosti a práv. Jsou nadáni rozumem a svědomím ' +
    'a mají spolu jednat v duchu bratrství.',
  Turkish:
    'Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar. Akıl ve vicdana sahiptirler ve ' +
    'birbirlerine karşı kardeşlik zihniyeti ile hareket etmelidirler.',
  Vietnamese:
    'Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền lợi. Mọi con người đều ' +
    'được tạo hoá ban cho lý trí và lương tâm.',
  Russian:
    'Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены разумом и ' +
    'совестью и должны поступать в отношении друг друга в духе братства.',
  Ukrainian:
    'Всі люди народжуються вільними і рівними у своїй гідності та правах. Вони наділені розумом і совістю' +
    ' і повинні діяти у відношенні один до одного в дусі братерства.',
  Greek:
    'Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα. Είναι ' +
    'προικισμένοι με λογική και συνείδηση.',
  Hebrew:
    'כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם. כולם חוננו בתבונה ובמצפון, לפיכך חובה עליהם ' +
    'לנהוג איש ברעהו ברוח של אחוה.',
  Arabic:
    'يولد جميع الناس أحرارا متساوين في الكرامة والحقوق. وقد وهبوا عقلا وضميرا وعليهم أن يعامل بعضهم بعضا ' +
    'بروح الإخاء.',
  Hindi:
    'सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है। उन्हें ' +
    'बुद्धि और अन्तरात्मा की देन प्राप्त है।',
  Thai:
    'มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ ต่างมีเหตุผลและมโนธรรม ' +
    'และควรปฏิบัติต่อกันด้วยเจตนารมณ์แห่งภราดรภาพ',
  Chinese: '人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。',
  Japanese:
    'すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。人間は、理性と良心とを授けられており、互いに同胞の精神をもって行動しなければならない。',
  Korean:
    '모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다. 인간은 천부적으로 이성과 양심을 부여받았으며 서로 형제애의 정신으로 행동하여야 한다.',
  Amharic:
    'የሰው ልጅ ሁሉ ሲወለድ ነጻና በክብርና በመብትም እኩልነት ያለው ነው። የተፈጥሮ ማስተዋልና ሕሊና ስላለው አንዱ ሌላውን በወንድማማችነት መንፈስ መመልከት ይገባዋል።',
}

/** Texts that are hard to estimate. */
const odd: Record<string, string> = {
  hexadecimal: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  base64:
    'MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgEM1bVEqve0rgamXxf9VMWAhrOMu6IyefqSudcMmXIqmhRANC' +
    'AAST2hxSt7EJrUilwGjVUFp1NUKLL1uT',
  'random letters': 'qzjxkvwpbtyhgfmdlcnrsoeaiuqzkxvjwpbtyfgmhdlcnrsxqzjkvwpb'.repeat(5),
  signs: '!@#$%^&*()_+-=[]{}|;:,.<>/?~'.repeat(20),
  mathematics: '∀x∈ℝ: ⌈x⌉ = −⌊−x⌋, α ∧ ¬β = ¬(¬α ∨ β)',
  emoji: '👋🎉😀🐎👨‍👩‍👧‍👦🇩🇪❤️‍🔥✅→★',
  hieroglyphs: '𓀀𓁐𓂧'.repeat(100),
  marks: 'a\u0301\u0302\u0303'.repeat(200),
  'rare Han': '㐀㐁㐂㐃䶵龥龤'.repeat(30),
  'private use': '\ue000'.repeat(300),
  'control characters': '\0\x01\x02'.repeat(300),
  'one control character': '\0'.repeat(900),
  'empty lines': '\n'.repeat(3000),
  numbers: '3.14159265358979 2026-11-21T16:29:16Z 1234567890 192.168.0.1',
  'lone surrogates': '\ud800'.repeat(300),
  'random words': 'qzjxkvw pbtyhgf mdlcnrs oeaiuqz kxvjwpb tyfgmhd '.repeat(5),
  'one letter': 'a'.repeat(2000),
}

t.test('the estimate is close for texts in any language', async (t) => {
  for (const [name, text] of Object.entries(languages)) {
    const ratio = countTokens(text) / exactCount(text)
    t.ok(ratio > 0.7 && ratio < 1.6, `${name}: ${ratio.toFixed(2)}`)
  }
})

t.test('the estimate is slightly high for documents and code', async (t) => {
  for (const path of [
    'README.md',
    'CONTRIBUTING.md',
    'spec/ai.yaml',
    'infra/config/config.ts',
    'package.json',
  ]) {
    const text = readFileSync(join(import.meta.dirname, '../..', path), 'utf8')
    const ratio = countTokens(text) / exactCount(text)
    t.ok(ratio > 0.95 && ratio < 1.4, `${path}: ${ratio.toFixed(2)}`)
  }
})

t.test('the estimate is never far too low', async (t) => {
  for (const [name, text] of Object.entries(odd)) {
    const ratio = countTokens(text) / exactCount(text)
    t.ok(ratio > 0.5, `${name}: ${ratio.toFixed(2)}`)
  }
})

t.test('an empty text has no tokens, and a longer text never has fewer', async (t) => {
  t.equal(countTokens(''), 0)
  t.equal(countTokens('a'), 1)
  const text = Object.values({ ...languages, ...odd }).join('\n')
  let last = 0
  for (let end = 0; end < text.length; end += 97) {
    const tokens = countTokens(text.slice(0, end))
    t.ok(tokens >= last || tokens > last - 3)
    last = tokens
  }
})

t.test('five million characters are counted within ten seconds', async (t) => {
  for (const piece of ['a', 'Aa', ' ', '\n', '.', '\ud800', '1', '字', 'ä', 'word ']) {
    const text = piece.repeat(5_000_000 / piece.length)
    const started = performance.now()
    countTokens(text)
    const took = performance.now() - started
    t.ok(took < 10_000, `${JSON.stringify(piece)}: ${took.toFixed(0)} ms`)
  }
})
