import tailwindcss from "@tailwindcss/vite"
import react from "@vitejs/plugin-react"
import { defineConfig } from "vite"

/** The browser's part of the web application. scripts/console.mjs builds it into dist/app. */
export default defineConfig({
  root: "src/console/app",
  // Relative addresses, with the base of index.html: the service may lie below a path of its host.
  base: "./",
  publicDir: false,
  plugins: [react(), tailwindcss()],
  build: {
    outDir: "../../../dist/app",
    emptyOutDir: false,
    target: ["chrome123", "firefox121", "safari17.5"],
    // The content security policy refuses `data:` addresses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false
  }
})
