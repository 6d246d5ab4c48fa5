/** The service as tools, documents and prompts for models (Model Context Protocol), over the client. */
export { answerMessage, serveStdio } from './transports.ts'
export type { McpOptions } from './server.ts'
export type { BacktestRunner } from './tools/backtest.ts'
