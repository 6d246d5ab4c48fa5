import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { toAlertsPage, toRules } from '../../packages/service/src/ops/alert-files.ts'
import { ALERTS } from '../../packages/service/src/ops/alerts.ts'

const ROOT = join(import.meta.dirname, '../..')

/** `npm run alerts`: writes the rules of Prometheus and the page of the docs. */
const FILES = {
  'deploy/prometheus/priorbook.rules.yml': toRules(ALERTS),
  'docs/operate/alerts.md': toAlertsPage(ALERTS),
}
for (const [file, text] of Object.entries(FILES)) {
  mkdirSync(dirname(join(ROOT, file)), { recursive: true })
  writeFileSync(join(ROOT, file), text)
  console.log(file)
}
