import { dayText, YES_NO, type PlanTopic } from './topic-plan.ts'
import { COUNTRIES, FIRST_NAMES, SURNAMES } from './words.ts'

/** Single yes/no questions, most of them unlikely. */
export const planQuestion: PlanTopic = (n, calendar, random) => {
  const { code, category, subject, ask } = SUBJECTS[n % SUBJECTS.length]!
  const closeTime = calendar.closeOf(Math.floor(n / SUBJECTS.length), 91, n % 90)
  const question = `Will ${ask} before ${dayText(closeTime)}?`
  return {
    kind: 'question',
    category,
    tags: [category, subject],
    series: { code, title: `Will ${ask}?`, frequency: 'one_off' },
    code: calendar.codeOf(closeTime),
    title: question,
    isExclusive: false,
    answers: [{ code: 'YES', label: 'Yes', question, outcomes: YES_NO }],
    chances: [Math.round(300 + 9_400 * random.next() ** 2)],
    closeTime,
  }
}

/** Combinations of results of several matches: one market each, made on demand and rarely traded. */
export const planCombo: PlanTopic = (n, calendar, random) => {
  const closeTime = calendar.closeOf(n % 30, 1)
  const legs = Array.from({ length: 2 + random.int(4) }, () => {
    const surname = SURNAMES[random.int(SURNAMES.length)]
    return `${random.chance(0.7) ? 'yes' : 'no'} ${surname}: ${1 + random.int(40)}+`
  })
  const number = n.toString(16).toUpperCase().padStart(9, '0')
  const title = legs.join(',')
  return {
    kind: 'combo',
    category: 'Sports',
    tags: ['Sports', 'Combos'],
    series: {
      code: 'MVESPORTSMULTIGAMEEXTENDED',
      title: 'Combinations',
      frequency: 'custom',
    },
    code: `S${new Date(closeTime).getUTCFullYear()}${number}`,
    title: 'Combination of results',
    isExclusive: false,
    answers: [{ code: number.slice(-8), label: title, question: title, outcomes: YES_NO }],
    chances: [200 + random.int(3_000)],
    closeTime,
  }
}

type Subject = {
  readonly code: string
  readonly category: string
  readonly subject: string
  readonly ask: string
}

const SUBJECTS: readonly Subject[] = [
  ...SURNAMES.flatMap((surname, at) => {
    const name = `${FIRST_NAMES[at % FIRST_NAMES.length]} ${surname}`
    const code = surname.toUpperCase()
    return [
      { code: `OUT${code}`, category: 'Politics', subject: name, ask: `${name} leave office` },
      { code: `RUN${code}`, category: 'Politics', subject: name, ask: `${name} run for president` },
      { code: `ALBUM${code}`, category: 'Entertainment', subject: name, ask: `${name} tour again` },
      { code: `RETIRE${code}`, category: 'Sports', subject: name, ask: `${name} retire` },
    ]
  }),
  ...COUNTRIES.flatMap(([code, name]) => [
    { code: `REC${code}`, category: 'Economics', subject: name, ask: `${name} enter a recession` },
    { code: `SNAP${code}`, category: 'World', subject: name, ask: `${name} call a snap election` },
    { code: `SPACE${code}`, category: 'Science', subject: name, ask: `${name} launch a crew` },
    {
      code: `HEAT${code}`,
      category: 'Climate and Weather',
      subject: name,
      ask: `${name} set a heat record`,
    },
  ]),
]
