/** A question that users often have, written out for a model. */
export type Prompt = {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly arguments: readonly {
    readonly name: string
    readonly description: string
    readonly required: boolean
  }[]
  text(values: Readonly<Record<string, string | undefined>>): string
}

const MARKET = {
  name: 'market',
  description: 'Words of the market, or VENUE:ID.',
  required: true,
} as const

const RULES =
  'Never guess across a gap: say what was not observed and why. Give the row ids that prove the figures, and times in UTC.'

/** The prompts, in the order of the list. */
export const PROMPTS: readonly Prompt[] = [
  {
    name: 'compare_a_round',
    title: 'Which venue is cheaper?',
    description: 'Compare the venues of a round at an instant, after fees.',
    arguments: [
      { name: 'round', description: 'Such as BTC 15m.', required: true },
      { name: 'at', description: 'The instant; now where absent.', required: false },
    ],
    text: ({ round, at = 'now' }) =>
      `Find the contract ${round} with find_contracts, compare its venues at ${at} with compare_venues, and say which venue is cheaper for Yes and for No after fees, what the edge is, and in which terms the markets differ. ${RULES}`,
  },
  {
    name: 'check_a_fill',
    title: 'Was this fill possible?',
    description: 'Check a fill that somebody claims against the recorded book.',
    arguments: [
      MARKET,
      { name: 'side', description: 'buy or sell.', required: true },
      { name: 'size', description: 'How much was filled.', required: true },
      { name: 'price', description: 'At which price.', required: true },
      { name: 'at', description: 'When.', required: true },
    ],
    text: ({ market, side, size, price, at }) =>
      `Somebody claims to have done ${side} ${size} at ${price} in ${market} at ${at}. Find the market, get execution_quote for that side, size and instant, look at book_at and at trades around it, and say whether the fill was possible, at what price, and what cannot be known. ${RULES}`,
  },
  {
    name: 'explain_a_hole',
    title: 'Why are data missing?',
    description: 'Explain what is missing of a market and why.',
    arguments: [MARKET],
    text: ({ market }) =>
      `What is missing of ${market}? Use find_markets, coverage and gaps. Tell spans in which the market was not open from losses, give the bounds and the reason of each loss, and say what a study of this market has to leave out. ${RULES}`,
  },
  {
    name: 'what_happened',
    title: 'What happened in a market?',
    description: 'Describe how the prices of a market moved, with evidence.',
    arguments: [MARKET],
    text: ({ market }) =>
      `Describe what happened in ${market}: its prices over time (price_history, first coarse, then finer where they move), the largest trades, and how it ended. ${RULES}`,
  },
]
