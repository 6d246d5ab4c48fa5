/** The tickers of coins by the names that titles and slugs give them. */
export const COIN_NAMES: ReadonlyMap<string, string> = new Map([
  ['bitcoin', 'BTC'],
  ['ethereum', 'ETH'],
  ['solana', 'SOL'],
  ['xrp', 'XRP'],
  ['bnb', 'BNB'],
  ['dogecoin', 'DOGE'],
  ['hyperliquid', 'HYPE'],
])
