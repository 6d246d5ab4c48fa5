// For a process of a test: prints a line when a package of OpenTelemetry is resolved.
import { registerHooks } from 'node:module'

// The interface alone is loaded with the client of Prometheus.
const SDK = /^@opentelemetry\/(?!api$)/

registerHooks({
  resolve(name, context, next) {
    if (SDK.test(name)) process.stderr.write(`RESOLVED ${name}\n`)
    return next(name, context)
  },
})
