// The library is packed; it is unpacked without asking for anything, and run before the charts are drawn.
(async function () {
  "use strict";
  var bytes = Uint8Array.from(atob(document.getElementById("library").textContent), function (c) { return c.charCodeAt(0); });
  var packed = new ReadableStream({ start: function (to) { to.enqueue(bytes); to.close(); } });
  (0, eval)(await new Response(packed.pipeThrough(new DecompressionStream("gzip"))).text());
  var specs = JSON.parse(document.getElementById("specs").textContent);
  var style = JSON.parse(document.getElementById("chart-style").textContent);
  var tip = document.getElementById("tip");

  function line(name, text) {
    var row = document.createElement(name ? "div" : "b");
    if (name) {
      var label = document.createElement("span");
      label.textContent = name + "  ";
      row.appendChild(label);
    }
    row.appendChild(document.createTextNode(text));
    return row;
  }

  function show(_, event, item, value) {
    // Around a point that the pointer is nearest to, the point is one level further down.
    if (item && item.isVoronoi && item.datum && item.datum.datum) { value = item.datum.datum.tip; }
    if (!value || typeof value !== "object") { tip.hidden = true; return; }
    tip.textContent = "";
    Object.keys(value).forEach(function (name) { tip.appendChild(line(name, String(value[name]))); });
    tip.hidden = false;
    var box = tip.getBoundingClientRect(), x = event.clientX + 14, y = event.clientY + 14;
    if (x + box.width > document.documentElement.clientWidth - 8) { x = event.clientX - box.width - 14; }
    if (y + box.height > window.innerHeight - 8) { y = event.clientY - box.height - 14; }
    tip.style.left = Math.max(x, 8) + "px";
    tip.style.top = Math.max(y, 8) + "px";
  }

  function follow(view, place) {
    var width = place.clientWidth;
    new ResizeObserver(function () {
      if (place.clientWidth && place.clientWidth !== width) {
        width = place.clientWidth;
        view.width(width).runAsync();
      }
    }).observe(place);
  }

  Object.keys(specs).forEach(function (name) {
    var place = document.getElementById("chart-" + name);
    try {
      var view = new vega.View(vega.parse(specs[name], style), {
        renderer: "svg", container: place, hover: true, tooltip: show, logLevel: vega.Error
      });
      view.runAsync().then(function () { follow(view, place); });
    } catch (error) {
      place.className = "chart failed";
      place.textContent = "This chart could not be drawn: " + error.message;
    }
  });
  window.addEventListener("scroll", function () { tip.hidden = true; }, { passive: true });
})().catch(function (error) {
  document.querySelectorAll(".chart").forEach(function (place) {
    place.className = "chart failed";
    place.textContent = "Charts need a browser of 2023 or later: " + error.message;
  });
});
