import tailwindcss from "@tailwindcss/vite"
import react from "@vitejs/plugin-react"
import { defineConfig } from "vite"

/** The browser's part of the web application. scripts/build-app.mjs builds it into dist/app. */
export default defineConfig({
  root: "src/console/app",
  // Relative addresses, with the base of index.html: the service may lie below a path of its host.
  base: "./",
  publicDir: false,
  plugins: [react(), tailwindcss()],
  // For `npm run dev:app`.
  server: { proxy: { "/console": "http://127.0.0.1:3000" } },
  build: {
    target: ["chrome123", "firefox121", "safari17.5"],
    // The content security policy refuses `data:` addresses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false
  }
})
