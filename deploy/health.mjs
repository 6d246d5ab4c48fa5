// The health check of the container: the process answers operators, and where it serves the API, that answers too.
// It knows settings of the environment only.
const { env } = process
// The certificate is for the name that clients use, not for this address.
env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'
process.removeAllListeners('warning')
const scheme = env['PRIORBOOK_API_TLS_CERT'] ? 'https' : 'http'
const ops = `http://127.0.0.1:${env['PRIORBOOK_OPS_PORT'] ?? 9464}/status`
const api = `${scheme}://127.0.0.1:${env['PRIORBOOK_API_PORT'] ?? 8780}/v3/health`
const urls = env['PRIORBOOK_ROLE'] === 'capture' ? [ops] : [ops, api]

const answers = await Promise.all(urls.map(ask))
const bad = answers.filter((answer) => answer !== undefined)
for (const answer of bad) console.error(answer)
process.exitCode = bad.length === 0 ? 0 : 1

async function ask(url) {
  try {
    const { ok, status } = await fetch(url, { signal: AbortSignal.timeout(4000) })
    return ok ? undefined : `${url} answers ${status}`
  } catch (error) {
    return `${url} does not answer: ${error.cause?.code ?? error.message}`
  }
}
