// Tables that are wider than their place say so, and can be scrolled by keys.
(function () {
  "use strict";
  if (!window.ResizeObserver) { return; }
  function look(place) {
    var wider = place.scrollWidth > place.clientWidth + 1;
    place.classList.toggle("wider", wider);
    if (wider) { place.tabIndex = 0; } else { place.removeAttribute("tabindex"); }
  }
  var sizes = new ResizeObserver(function (seen) { seen.forEach(function (one) { look(one.target); }); });
  document.querySelectorAll(".scroll").forEach(function (place) { sizes.observe(place); });
})();
